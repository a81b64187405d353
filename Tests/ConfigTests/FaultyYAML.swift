/// What is no YAML, or YAML that a configuration may not be.
let faultyYAML: [Example] = [
    Example(
        #"""
        upstream: demo
        ---
        upstream: demo
        """#,
        [
            #"2:1: error: a second document begins here (a configuration is one document; remove the `---`)"#
        ]),
    Example(
        #"""
        - upstream: demo
        """#,
        [
            #"1:1: error: a configuration is a mapping, this is a list"#
        ]),
    Example(
        #"""
        demo
        """#,
        [
            #"1:1: error: a configuration is a mapping, this is `demo`"#
        ]),
    Example(
        #"""
        upstream: [demo
        """#,
        [
            #"1:11: error: a list in brackets is not closed, or lacks a `,` (seen on line 2)"#
        ]),
    Example(
        #"""
        request: {set: {A: b}
        upstream: demo
        """#,
        [
            #"1:10: error: a mapping in braces is not closed, or lacks a `,` (seen on line 2)"#
        ]),
    Example(
        #"""
        upstream: "demo
        """#,
        [
            #"1:11: error: a quoted text is not closed"#
        ]),
    Example(
        #"""
        upstream: 'demo
        """#,
        [
            #"1:11: error: a quoted text is not closed"#
        ]),
    Example(
        #"""
        a: b: c
        """#,
        [
            #"1:5: error: a `:` is not expected here (put a value that holds `: ` in quotes, or check the indentation)"#
        ]),
    Example(
        #"""
        upstream: demo
        	listen: :80
        """#,
        [
            #"2:1: error: a tab where indentation is expected (indent with spaces)"#
        ]),
    Example(
        #"""
        upstream: @demo
        """#,
        [
            #"1:11: error: a value can not begin with this character (put the value in quotes; indent with spaces, not with tabs)"#
        ]),
    Example(
        #"""
        upstream: `demo`
        """#,
        [
            #"1:11: error: a value can not begin with this character (put the value in quotes; indent with spaces, not with tabs)"#
        ]),
    Example(
        #"""
        request:
          set:
              A: b
            B: c
        """#,
        [
            #"4:5: error: the indentation does not fit what stands above (the block begins on line 2)"#
        ]),
    Example(
        #"""
        request:
          remove:
            - A
            B
        """#,
        [
            #"5:1: error: a key without `:` (write `key: value`; a text of several lines needs quotes or `|`)"#
        ]),
    Example(
        #"""
        upstream: demo
         listen: :80
        """#,
        [
            #"2:8: error: a `:` is not expected here (put a value that holds `: ` in quotes, or check the indentation)"#
        ]),
    Example(
        #"""
        request
        upstream: demo
        """#,
        [
            #"2:9: error: a `:` is not expected here (put a value that holds `: ` in quotes, or check the indentation)"#
        ]),
    Example(
        #"""
        upstream: "a\qb"
        """#,
        [
            #"1:13: error: an unknown escape in a text in double quotes (write `\\` for a backslash, or use single quotes)"#
        ]),
    Example(
        #"""
        upstream: !secret demo
        """#,
        [
            #"1:11: error: upstream: the tag `!secret` is not supported (remove it)"#
        ]),
    Example(
        #"""
        upstream: !!binary demo
        """#,
        [
            #"1:11: error: upstream: the tag `!!binary` is not supported (remove it)"#
        ]),
    Example(
        #"""
        request: !env {set: {}}
        """#,
        [
            #"1:1: error: `upstream` is missing (add `upstream: http://127.0.0.1:3000`, or `upstream: demo` to see what would be sent)"#,
            #"1:10: error: request: the tag `!env` is not supported (remove it)"#,
        ]),
    Example(
        #"""
        upstream: *origin
        """#,
        [
            #"1:11: error: upstream: `*origin` refers to no anchor above it"#
        ]),
    Example(
        #"""
        one: &origin demo
        upstream: *orign
        """#,
        [
            #"2:11: error: upstream: `*orign` refers to no anchor above it (did you mean `*origin`?)"#
        ]),
    Example(
        #"""
        rules: &all
          - *all
        """#,
        [
            #"2:5: error: rules[0]: `*all` stands inside what it refers to"#
        ]),
    Example(
        #"""
        upstream: demo
        request: &a
          <<: {set: {A: b}}
        """#,
        [
            #"3:3: error: request: merge keys (`<<`) are not supported (write the keys out, or use an alias for a whole value)"#
        ]),
    Example(
        #"""
        upstream: demo
        listen: :80
        upstream: demo
        """#,
        [
            #"3:1: error: duplicate key `upstream` (it is first set on line 1)"#
        ]),
    Example(
        #"""
        upstream: demo
        request:
          set:
            A: 1
            A: 2
        """#,
        [
            #"5:5: error: request.set.A: duplicate key `A` (it is first set on line 4)"#
        ]),
    Example(
        #"""
        ? [a]
        : b
        """#,
        [
            #"1:3: error: a key must be a text, found a list"#
        ]),
    Example(
        #"""
        upstream: %demo
        """#,
        [
            #"1:11: error: a value can not begin with this character (put the value in quotes; indent with spaces, not with tabs)"#
        ]),
    Example(
        #"""
        upstream: demo
        log: }
        """#,
        [
            #"2:6: error: a value is missing here (put a value that begins with `%`, `@`, `,` or a bracket in quotes)"#
        ]),
    Example(
        #"""
        %YAML 3.0
        ---
        a: b
        """#,
        [
            #"1:1: error: another version of YAML is asked for (remove the `%YAML` line)"#
        ]),
    Example(
        #"""
        upstream: demo\
        ...
        rules: []
        """#,
        [
            #"3:1: error: text behind the end of the document (remove it)"#
        ]),
]
