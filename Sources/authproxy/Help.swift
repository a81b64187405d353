/// What `--help` prints.
enum Help {
    static let general = """
        authproxy - a reverse proxy that adds what an upstream needs: Authorization and other headers, by rules

        Usage: authproxy <command> [options]

          run       serve in the foreground; without a configuration, on a built-in demo
          check     say all that is wrong with a configuration
          explain   show what would be done with a request, and why
          schema    print the JSON Schema of the configuration, for editors
          reload    have the running process read its configuration again
          status    show what the running process does
          version   print the version

        `authproxy <command> --help` tells more. Options come before AUTHPROXY_* variables, these before the file.
        Exit status: 0 done, 1 failed at run time, 2 bad configuration or usage, 3 stopped by force.

        """

    private static let configuration = """
          -c, --config FILE     the configuration; default ./config.yaml if there is one ($AUTHPROXY_CONFIG)
              --listen ADDRESS  127.0.0.1:8080, [::1]:8080, :8080, unix:/path ($AUTHPROXY_LISTEN)
              --upstream URL    http://host[:port][/path], unix:/path or demo ($AUTHPROXY_UPSTREAM)
              --header 'N: V'   set a request header; ${env:NAME} works in it; may be given again
              --workers N       threads that serve; default one per core
              --log-level L     error, warn, info or debug ($AUTHPROXY_LOG_LEVEL)
              --log-format F    auto, text or json ($AUTHPROXY_LOG_FORMAT)

        """

    static func text(of command: Command) -> String {
        switch command {
        case .run:
            return """
                Usage: authproxy run [options] [-- COMMAND ARGUMENTS...]

                Serves in the foreground. With a COMMAND, starts it with AUTHPROXY_URL set, forwards signals to it and ends with
                its exit status.

                \(configuration)      --tls             serve HTTPS with a certificate for localhost, signed by an authority of your own
                      --watch           read the configuration again whenever it changes
                      --no-color        plain text

                Signals: TERM and INT finish running requests and stop (a second INT stops at once), HUP reads the configuration
                again, USR1 opens log files anew.

                Examples:
                  authproxy run
                  authproxy run --upstream http://127.0.0.1:3000 --header 'Authorization: Bearer ${env:API_TOKEN}'
                  authproxy run -c config.yaml -- npm start

                """
        case .check:
            return """
                Usage: authproxy check [options] [FILE]

                Reads a configuration, prints every error with its place and remedy, and warnings. Exit status 2 if there is an error.

                \(configuration)
                """
        case .explain:
            return """
                Usage: authproxy explain METHOD URL [-H 'NAME: VALUE']... [options]

                Shows which rules match a request and which key refused the others, the request as it would be sent with where
                each header comes from (secrets as their sources), and what becomes of redirects.

                  -H 'NAME: VALUE'      a header of the request; may be given again
                      --client ADDRESS  the client's address; default 127.0.0.1
                \(configuration)
                """
        case .schema: return "Usage: authproxy schema\n\nPrints the JSON Schema (2020-12) of the configuration.\n"
        case .reload:
            return """
                Usage: authproxy reload [--socket PATH | -c FILE]

                Has the running process read its configuration again. A faulty one changes nothing; the faults are printed.

                """
        case .status:
            return "Usage: authproxy status [--socket PATH | -c FILE]\n\nPrints what the running process does, as JSON.\n"
        case .version: return "Usage: authproxy version\n"
        case .help: return general
        }
    }
}
