# bash completion for ibfabric-probe(1). Plain bash: needs nothing of the bash-completion package.
_ibfabric_probe() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command="" word choices=""
    local access="--key --ca --cert --cert-key"
    local amount="--size --sweep --count --seconds --rate --no-check --no-huge-pages"
    local way="--device --peer-device --gid-index --peer-gid-index --dlid --sl --pkey-index --path-bits --mtu"
    local reliability="--timeout --retries --rnr-retries --cm"
    COMPREPLY=()
    case $previous in
        --key | --ca | --cert | --cert-key | --config)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --device | --port)
            mapfile -t COMPREPLY < <(cd /sys/class/infiniband 2>/dev/null && compgen -d -- "$current")
            return
            ;;
        --log-level) choices="trace debug info warning error off" ;;
        --mtu) choices="256 512 1024 2048 4096" ;;
        --size | --sweep | --count | --seconds | --rate | --qps | --depth | --peer-device | --gid-index | --peer-gid-index | \
            --dlid | --sl | --pkey-index | --path-bits | --timeout | --retries | --rnr-retries | --listen | --priority) return ;;
    esac
    if [[ -n $choices ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
        return
    fi
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ $word != -* ]]; then
            command=$word
            break
        fi
    done
    case $command in
        ping) choices="$amount $way $reliability $access" ;;
        send | write | read) choices="--qps --depth $amount $way $reliability $access" ;;
        ud) choices="$amount $way $access" ;;
        devices) choices=$access ;;
        check) choices="--priority" ;;
        explain)
            if [[ $current != -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$(ibfabric-probe explain 2>/dev/null | grep -v '^ ')" -- "$current")
                return
            fi
            ;;
        path) choices="--port --pkey-index" ;;
        agent) choices="--config --listen --log-level $access" ;;
        key)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        "")
            choices="ping send write read ud devices check explain path agent key"
            if [[ $current == -* ]]; then
                choices="--version --help-all --json --help"
            fi
            mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
            return
            ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$choices --json --help" -- "$current")
    elif [[ $command =~ ^(ping|send|write|read|ud|devices)$ ]]; then
        mapfile -t COMPREPLY < <(compgen -A hostname -- "$current")
    fi
}
complete -F _ibfabric_probe ibfabric-probe
