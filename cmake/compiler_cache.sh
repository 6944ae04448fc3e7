#!/bin/sh
# The compiler through ccache, which serves objects of other checkouts, too. A precompiled header is made anew: it names
# the files of its checkout, and with those of another one each header would be read twice. What depends on it is known
# by what the headers say (ccache: pch_external_checksum).
# usage: compiler_cache.sh CHECKOUT COMPILER ARGUMENTS...
CCACHE_BASEDIR=$1
shift
export CCACHE_BASEDIR CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros
case " $* " in
*" -x c++-header "*) ;;
*) exec ccache "$@" ;;
esac
"$@" || exit
# The same command without its output, which goes to the checksum.
count=$#
while [ "$count" -gt 0 ]; do
  case $1 in
  -o) header=$2 && shift && count=$((count - 1)) ;;
  -MD | -fpch-preprocess) ;;
  -MT | -MF) shift && count=$((count - 1)) ;;
  *) set -- "$@" "$1" ;;
  esac
  shift
  count=$((count - 1))
done
"$@" -E -P | sed "s|$CCACHE_BASEDIR||g" | sha256sum >"$header.sum"
