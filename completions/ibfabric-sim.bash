# bash completion for ibfabric-sim(1). Plain bash: needs nothing of the bash-completion package.
_ibfabric_sim() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} first=${COMP_WORDS[1]} choices=""
    COMPREPLY=()
    case $first in
        run)
            case $COMP_CWORD in
                2) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
                3) ;;
                4) mapfile -t COMPREPLY < <(compgen -c -- "$current") ;;
                *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
            esac
            return
            ;;
        ctl)
            if [[ $COMP_CWORD == 2 ]]; then
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
                return
            fi
            if [[ $COMP_CWORD == 3 ]]; then
                choices="truth counters clients events help quit drop delay duplicate reorder wrong-tid error-status slow-set"
                choices+=" reboot dead alive link-down link-up flap remove-node add-node trap mute-traps"
                choices+=" corrupt-node-info one-way swap-cables lossy throttle lft-entry adaptive-routing"
                choices+=" no-extended-counters redirect-perf at"
            elif [[ $previous == truth ]]; then
                choices="tables lanes"
            else
                choices="attr= method= count= probability= delay= number= with= lid="
            fi
            ;;
        *)
            case $previous in
                --socket | --faults)
                    mapfile -t COMPREPLY < <(compgen -f -- "$current")
                    return
                    ;;
                --seed | --hop-ns | --agent-us) return ;;
            esac
            if [[ $current == -* ]]; then
                choices="--socket --faults --seed --hop-ns --agent-us --help --version"
            else
                mapfile -t COMPREPLY < <(compgen -f -W "ctl run" -- "$current")
                return
            fi
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}
complete -F _ibfabric_sim ibfabric-sim
