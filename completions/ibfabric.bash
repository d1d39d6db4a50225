# bash completion for ibfabric(1). Plain bash: needs nothing of the bash-completion package.
_ibfabric() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} word command="" choices=""
    local commands="check drain events export generate groups health hosts isolated lids links nodes path plan ports probe quality query"
    commands+=" reload resume route sa services sms status sweep sweeps switches undrain whatif"
    local types="classportinfo group guid inform lft link mft node path pkey port service sl2vl sm switch vlarb" type=""
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ -z $command && " $commands " == *" $word "* ]]; then
            command=$word
        elif [[ $command == probe && " plan run list show compare explain " == *" $word "* ]]; then
            command="probe $word"
        elif [[ $command == query && -z $type && " $types " == *" $word "* ]]; then
            type=$word
        fi
    done
    COMPREPLY=()
    case $previous in
        --format) choices="ibnetdiscover ibsim json guid2lid opensm-dumps" ;;
        --fields) choices=$([[ -n $type ]] && "${COMP_WORDS[0]}" query "$type" --list-fields 2> /dev/null) ;;
        --engine) choices="minhop updn dnup ftree sssp dfsssp nue lash dor torus-2qos dragonfly file auto minhop,updn" ;;
        --show)
            choices="all inactive"
            [[ $command == ports ]] && choices+=" linked down"
            [[ $command == links ]] && choices+=" switches hosts slow drained"
            ;;
        --test) choices="write send ping ud" ;;
        --pattern) choices="shift permutation bisection all" ;;
        --slow-links) choices="use weigh avoid" ;;
        --socket | -o | --output | --hosts | --agents | --faults | --key | --ca | --cert | --cert-key | --lfts | --dump | --hop-weights | --ignored-ports | --compute-nodes | --io-nodes | --guid-order)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
    esac
    if [[ -z $choices && $current == -* ]]; then
        choices="--json --socket --help"
        case $command in
            "") choices+=" --help-all --version" ;;
            status) choices+=" --wait-up" ;;
            sweep) choices+=" --full --wait" ;;
            drain) choices+=" --force --wait" ;;
            undrain) choices+=" --wait" ;;
            whatif) choices+=" --engine --top" ;;
            export) choices+=" --format --output" ;;
            health) choices+=" --set --clear" ;;
            generate) choices+=" --output" ;;
            plan)
                choices+=" --engine --compare --pattern --hosts --matchings --fail --seed --lmc --vls --threads --root"
                choices+=" --lfts --dump --slow-links --hop-weights --ignored-ports --compute-nodes --io-nodes --guid-order"
                choices+=" --allow-credit-loops --connect-roots"
                ;;
            "probe plan")
                choices+=" --engine --hosts --matchings --fail --seed --lmc --vls --threads --root --lfts --top --list --slow-links"
                choices+=" --hop-weights --ignored-ports --compute-nodes --io-nodes --guid-order --allow-credit-loops --connect-roots"
                ;;
            "probe run")
                choices+=" --test --size --seconds --rate --together --rounds --parallel --no-traffic --no-audit --agents --agent-port"
                choices+=" --key --ca --cert --cert-key --port --no-store --sim --faults --list --engine --hosts --matchings --fail --seed --lmc --vls"
                choices+=" --threads --root --lfts --slow-links --hop-weights --ignored-ports --compute-nodes --io-nodes --guid-order"
                choices+=" --allow-credit-loops --connect-roots"
                ;;
            "probe list") choices+=" --limit" ;;
            "probe show") choices+=" --flows --findings" ;;
            "probe compare") choices+=" --last --slower --list" ;;
            events) choices+=" --limit --kind" ;;
            sweeps) choices+=" --limit" ;;
            nodes | switches | hosts | lids) choices+=" --match" ;;
            ports | links) choices+=" --match --node --show" ;;
            route) choices+=" --lid" ;;
            query) choices+=" --fields --list-fields --port --sa-key --timeout --retries" ;;
        esac
    elif [[ -z $choices && -z $command ]]; then
        choices=$commands
    elif [[ -z $choices && $previous == whatif ]]; then
        choices=down
    elif [[ -z $choices && $previous == probe ]]; then
        choices="compare explain list plan run show"
    elif [[ -z $choices && $command == query && -z $type ]]; then
        choices=$types
    elif [[ -z $choices && $command == query && $previous != --* ]]; then
        compopt -o nospace 2> /dev/null
        mapfile -t COMPREPLY < <(compgen -S = -W "$("${COMP_WORDS[0]}" query "$type" --list-fields 2> /dev/null)" -- "$current")
        return
    elif [[ -z $choices && ($command == generate || $command == plan || $command == "probe plan" || $command == "probe run") ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}
complete -o filenames -F _ibfabric ibfabric
