# The case debian of check_packages.sh, which sources this: a new Debian, of this machine's version,
# by debootstrap, the packages installed there by apt, consumers built against them, and all taken
# away again.
#   SDPA_DEBIAN_MIRROR   where debootstrap gets Debian from, if not deb.debian.org
needs_dpkg
mirror=${SDPA_DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=$SDPA_WORK/root
cache=$SDPA_BUILD/debian-cache
wanted=gcc,libc6-dev,cmake,make,pkg-config,man-db
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release | tr -d '"')
grep -qx 'ID=debian' /etc/os-release && test -n "$suite" || skip "this is no Debian of a name"
test "$(id -u)" = 0 || skip "only root may chroot"
PATH=$PATH:/usr/sbin:/sbin
command -v debootstrap >/dev/null || skip "there is no debootstrap"
mkdir -p "$cache"
debootstrap --print-debs --variant=minbase "$suite" "$root" "$mirror" >"$log" 2>&1 || {
  cat "$log"
  skip "debootstrap gets nothing from $mirror"
}
rm -rf "$root"
run debootstrap --variant=minbase --include="$wanted" --cache-dir="$cache" \
  "$suite" "$root" "$mirror"
trap 'rm -rf --one-file-system "$root"' EXIT
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/packages" "$root/srv/consumers"
cp "$made"/*.deb "$root/packages/"
cp -R "$SDPA_SOURCE/tests/install/consumer" "$root/srv/consumers/"

# inside COMMAND: by the shell of the new system, which knows nothing of this one's environment.
inside() {
  run chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 MANPAGER=cat \
    DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} sh -ec "$1"
}

inside 'apt-get update'
inside 'apt-get install -y --no-install-recommends /packages/*.deb'
inside 'dpkg --audit; ldconfig -p'
says 'libsdpa.so.0 (libc6'

for kind in shared static; do
  inside "cmake -S /srv/consumers/consumer -B /srv/consumers/$kind -DREQUEST='REQUIRED;COMPONENTS;$kind' -DLINK=sdpa::$kind
    cmake --build /srv/consumers/$kind; /srv/consumers/$kind/consumer"
  says "$SDPA_VERSION ok"
done
inside 'pkg-config --cflags --libs sdpa'
test "$(tr -d ' ' <"$log")" = -lsdpa || fail "pkg-config says $(cat "$log")"
inside 'cd /srv/consumers; cc consumer/consumer.c $(pkg-config --cflags --libs sdpa) -o shared_pc; ./shared_pc'
says "$SDPA_VERSION ok"
inside 'cd /srv/consumers; mkdir archive; cp /usr/lib/*/libsdpa.a archive/
  cc consumer/consumer.c -Larchive $(pkg-config --static --cflags --libs sdpa) -o static_pc; ./static_pc; ldd static_pc'
says "$SDPA_VERSION ok"
never_says 'libsdpa.so'
inside 'sdpa-bench --accuracy --problem f32:q3:k3:d4'
inside 'sdpa-lesson'
for page in sdpa sdpa_execute sdpa_attention_f64 sdpa-bench sdpa-lesson; do
  inside "man $page"
  says 'libsdpa'
done

# Beside the solver, whose package libsdpa-dev is no upgrade of this one and whose sdpam is not content with it.
inside 'apt-get -s dist-upgrade'
never_says 'libsdpa'
inside 'apt-get install -y --no-install-recommends sdpa; man 3 sdpa'
says 'sdpa_execute(3)'
refused 'libsdpa-dev : Conflicts: sdpam' chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
  apt-get -s install libsdpa-dev sdpam
inside 'apt-get purge -y libsdpa0 libsdpa-dev sdpa-tools sdpa; find /usr /etc /var/lib/man-db -name "*sdpa*" 2>/dev/null || :'
never_says '/libsdpa'
never_says '/sdpa-'
