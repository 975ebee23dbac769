//! A database on a server, which goes when it is dropped.

macro_rules! server {
    ($variable:literal, $tables:literal, $drop:literal) => {
        struct Database(String);

        impl Database {
            fn create(name: &str) -> Self {
                let database = Database(format!("pools_test_{name}_{}", std::process::id()));
                run(&format!("CREATE DATABASE {}", database.0));
                let conn = &mut database.connect();
                conn.batch_execute(include_str!($tables)).unwrap();
                database
            }

            fn url(&self) -> String {
                let server = server();
                let (address, _) = server.rsplit_once('/').unwrap();
                format!("{address}/{}", self.0)
            }

            fn connect(&self) -> Conn {
                Conn::establish(&self.url()).unwrap()
            }
        }

        impl Drop for Database {
            fn drop(&mut self) {
                run(&format!("DROP DATABASE {} {}", self.0, $drop));
            }
        }

        fn server() -> String {
            std::env::var($variable).expect(concat!("set ", $variable, ", or run scripts/test"))
        }

        fn run(sql: &str) {
            let mut conn = Conn::establish(&server()).unwrap();
            conn.batch_execute(sql).unwrap();
        }
    };
}
