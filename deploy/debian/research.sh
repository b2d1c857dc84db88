#!/usr/bin/env bash
# Makes the package smartmig-research of a build: research.sh BUILD-DIRECTORY VERSION OUTPUT-DIRECTORY (docs/install.md).
set -eu
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
cmake --install "$1" --component research --prefix "$stage/usr" --strip >/dev/null
mkdir -p "$stage/debian" "$stage/DEBIAN" "$stage/usr/share/doc"
ln -s smartmig "$stage/usr/share/doc/smartmig-research"
printf 'Source: smartmig\n\nPackage: smartmig-research\nArchitecture: any\n' >"$stage/debian/control"
libraries=$(cd "$stage" && dpkg-shlibdeps -O usr/libexec/smartmig/smartmig-research)
rm -r "$stage/debian"
cat >"$stage/DEBIAN/control" <<END
Package: smartmig-research
Version: $2
Architecture: $(dpkg --print-architecture)
Maintainer: ${SMARTMIG_MAINTAINER:-smartmig packagers <packagers@smartmig.invalid>}
Section: admin
Priority: optional
Depends: smartmig (= $2), ${libraries#shlibs:Depends=}
Description: studies of smartmig: training, tuning and the tables of papers
 Adds the verbs train, tune, explain, reproduce and export --onnx to smartmig.
END
dpkg-deb --build --root-owner-group "$stage" "$3" >/dev/null
