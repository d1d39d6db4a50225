# bash completion for ibfabric(1). Plain bash: needs nothing of the bash-completion package.
_ibfabric() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} word command=
    local commands="check events export generate hosts lids links nodes path plan ports route status sweep switches"
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case " $commands " in *" $word "*)
            command=$word
            break
            ;;
        esac
    done
    COMPREPLY=()
    case $previous in
        --format)
            mapfile -t COMPREPLY < <(compgen -W "ibnetdiscover ibsim json guid2lid opensm-dumps" -- "$current")
            return
            ;;
        --engine)
            mapfile -t COMPREPLY < <(compgen -W "minhop updn" -- "$current")
            return
            ;;
        --socket | -o)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
    esac
    if [[ -z $command && $current != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
        return
    fi
    if [[ $current == -* ]]; then
        local options="--json --socket --help"
        case $command in
            status) options+=" --wait-up" ;;
            sweep) options+=" --full --wait" ;;
            export) options+=" --format -o" ;;
            generate) options+=" -o" ;;
            plan) options+=" --engine" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        return
    fi
    case $command in
        generate | plan) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
}
complete -o filenames -F _ibfabric ibfabric
