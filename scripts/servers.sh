# Temporary database servers, for scripts/test, which sources this file. Their folders are
# in its folder `work`, and they stop when it ends.
# shellcheck shell=bash disable=SC2154

is_root() { [ "$(id -u)" = 0 ]; }

# Distributions and Homebrew do not put servers on the PATH. Each folder is added in front
# of the previous ones, so of two versions the later one is found first.
find_servers() {
  local folder path=
  for folder in {/usr/local,/opt/homebrew,/home/linuxbrew/.linuxbrew}/opt/{mariadb*,mysql*,libpq,postgresql*}/bin \
    /usr/libexec /usr/sbin /usr/lib/postgresql/*/bin; do
    [ ! -d "$folder" ] || path="$folder:$path"
  done
  export PATH="$PATH:$path"
}

# Runs a job in its own process group. Ctrl-C then reaches only this script, which ends the
# whole group.
in_background() { set -m; "$@" </dev/null & set +m; }

# Prints the server's version, or fails if the server does not respond. Cuts what the
# distribution adds after a space.
version() { ask_version "$@" | cut -d ' ' -f 1; }
ask_version() {
  local client=mysql
  if [ "$1" = postgres ]; then
    PGCONNECT_TIMEOUT=5 psql -XAt -d "$2" -c 'SHOW server_version'
  else
    has mysql || client=mariadb
    [[ $2 =~ ^mysql://([^:@/]+)(:([^@]*))?@([^:/]+)(:([0-9]+))? ]] || return 1
    MYSQL_PWD=${BASH_REMATCH[3]} "$client" --no-defaults --protocol=TCP --connect-timeout=5 \
      -u "${BASH_REMATCH[1]}" -h "${BASH_REMATCH[4]}" -P "${BASH_REMATCH[6]:-3306}" -NBe 'SELECT VERSION()'
  fi
}

# PostgreSQL does not run as root, and the others should not.
as_owner() {
  cd "$folder" || exit
  # With pdeathsig, the server ends even if this script is killed with -9.
  set_owner --pdeathsig QUIT
  exec "${as[@]}" "$@"
}

# Sets `as` to the command that runs another one as the owner.
set_owner() {
  as=(env "TMPDIR=$folder") # this user may have no access to the caller's
  ! is_root || as+=(setpriv --reuid "$owner" --regid "$(id -g "$owner")" --clear-groups "$@")
}

# Prints a locale of this machine in which `lower` and CITEXT fold letters outside of ASCII, or C.
ctype() {
  local name
  for name in C.UTF-8 C.utf8 en_US.UTF-8 en_US.utf8; do
    ! locale -a 2>/dev/null | grep -xF "$name" || return 0
  done
  echo C
}

# Creates the data folder, and sets `server` to the command that runs the server.
prepare() {
  mkdir "$folder"
  ! is_root || chown "$owner" "$folder"
  # The database and the user of the URL, which not every version creates.
  printf '%s;\n' 'CREATE DATABASE IF NOT EXISTS test' "CREATE USER IF NOT EXISTS root@'127.0.0.1'" \
    "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION" >"$work/init.sql"
  local options=(--no-defaults "--datadir=$folder/data" "--socket=$folder/socket" "--pid-file=$folder/pid"
    --bind-address=127.0.0.1 --skip-name-resolve --max-connections=300 "--init-file=$work/init.sql")
  case $1 in
  postgres)
    server=(postgres -D "$folder/data" --listen_addresses=127.0.0.1 "--unix_socket_directories=$folder"
      --max_connections=300 --max_prepared_transactions=10)
    (as_owner initdb -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C "--lc-ctype=$(ctype)") ;;
  mariadb)
    server=(mariadbd "${options[@]}")
    (as_owner mariadb-install-db --no-defaults "--datadir=$folder/data" \
      --auth-root-authentication-method=normal --skip-name-resolve) ;;
  mysql)
    server=(mysqld "${options[@]}" --mysqlx=OFF)
    (as_owner mysqld --no-defaults --initialize-insecure "--datadir=$folder/data") ;;
  esac
}

# Sets what `prepare` and `as_owner` use.
name() {
  folder=$work/$1 log=$work/$1.server owner=mysql
  [ "$1" != postgres ] || owner=postgres
  id "$owner" >/dev/null 2>&1 || owner=nobody
}

# Sets `port` to one that may be free, and `url` to the URL of a server there.
choose_port() {
  port=$((20000 + RANDOM % 12000))
  url=mysql://root@127.0.0.1:$port/test
  [ "$1" != postgres ] || url=postgres://postgres@127.0.0.1:$port/postgres
}

# Sets `url` to the URL that the caller gave, or starts a server and sets `url` to its URL.
start() {
  local given=${1}_url folder log owner port server
  url=${!given}
  [ -z "$url" ] || return 0
  name "$1"
  if prepare "$1" >"$log" 2>&1; then
    server+=(${more[@]+"${more[@]}"}) # options that the caller adds
    # The port may be in use, or another program may take it first: try others.
    for _ in {1..5}; do
      choose_port "$1"
      in_background as_owner "${server[@]}" "--port=$port" >>"$log" 2>&1
      for _ in {1..600}; do
        kill -0 $! 2>/dev/null || break
        # A server creates its socket file when it has the port. Before that, another
        # program may respond at the port.
        if [ -S "$folder/socket" ] || [ -S "$folder/.s.PGSQL.$port" ]; then
          ! version "$1" "$url" >"$work/$1.version" 2>/dev/null || return 0
        fi
        sleep 0.1
      done
      kill -KILL $! 2>/dev/null || true
    done
  fi
  echo "scripts/test: $1 did not start; the end of its log:" >&2
  tail -n 50 "$log" >&2
  return 1
}
