#!/bin/sh
# Stands in for site-nine's `s9`: notes how it was called, and answers as ADR-004 expects.
{ printf '%s' "$#"; printf ' [%s]' "$@"; echo; } >> calls
case "$*" in
    "dashboard") echo '{"active_agents": 2, "tasks_in_progress": 5, "tasks_completed": 7}' ;;
    "dashboard --role "*) echo "Tasks for $3" ;;
    "agent roles") printf 'Architect\nEngineer\n' ;;
    "agent has Architect" | "agent has Engineer") ;;
    "agent has "*) echo "there is no role $3" >&2; exit 1 ;;
    "name suggest "*) echo "Ptah" ;;
    "agent start "*) echo "agent-42" ;;
    "agent rename-tui "*) echo "there is no terminal" >&2; exit 1 ;;
    *) exit 64 ;;
esac
