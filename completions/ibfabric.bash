# bash completion for ibfabric(1). Plain bash: needs nothing of the bash-completion package.
_ibfabric() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} word command="" choices=""
    local commands="check events export generate groups hosts isolated lids links nodes path plan ports quality reload"
    commands+=" route sa services status sweep sweeps switches"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ " $commands " == *" $word "* ]]; then
            command=$word
            break
        fi
    done
    COMPREPLY=()
    case $previous in
        --format) choices="ibnetdiscover ibsim json guid2lid opensm-dumps" ;;
        --engine) choices="minhop updn minhop,updn" ;;
        --show)
            choices="all inactive"
            [[ $command == ports ]] && choices+=" linked down"
            [[ $command == links ]] && choices+=" switches hosts"
            ;;
        --socket | -o | --output)
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
            export) choices+=" --format --output" ;;
            generate) choices+=" --output" ;;
            plan) choices+=" --engine --lmc --threads --root --allow-credit-loops --connect-roots" ;;
            events) choices+=" --limit --kind" ;;
            sweeps) choices+=" --limit" ;;
            nodes | switches | hosts | lids) choices+=" --match" ;;
            ports | links) choices+=" --match --node --show" ;;
            route) choices+=" --lid" ;;
        esac
    elif [[ -z $choices && -z $command ]]; then
        choices=$commands
    elif [[ -z $choices && ($command == generate || $command == plan) ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}
complete -o filenames -F _ibfabric ibfabric
