// The constant parts of the page.

extension DemoPage {
    static let style: StaticString = #"""
        :root{color-scheme:light dark;--ground:#f5f6f8;--sheet:#fff;--ink:#1b2430;--soft:#566273;--line:#dfe3e9;--accent:#0b62c4;--on-accent:#fff;
        --in:#e5f5ea;--in-ink:#12603a;--own:#eaf0fa;--own-ink:#2a5490;--out-ink:#9b2c22}
        @media(prefers-color-scheme:dark){:root{--ground:#12161c;--sheet:#1a2029;--ink:#e4e9f0;--soft:#9aa7b8;--line:#2c3541;--accent:#6cb0ff;
        --on-accent:#0c1420;--in:#17352a;--in-ink:#84dcab;--own:#1d2a3e;--own-ink:#a3c6f7;--out-ink:#f2a197}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
        main{max-width:64rem;margin:0 auto;padding:2rem 1rem 4rem}
        h1,th[scope],td bdi,code,output{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
        h1{font-size:1.4rem;line-height:1.35;margin:.25rem 0 .75rem;font-weight:600}
        h2{font-size:1.1rem;margin:2.25rem 0 .75rem}
        h3{font-size:1rem;margin:0}
        .brand{margin:0;font-weight:600}.brand span,.lead,article p,footer{color:var(--soft)}.brand span{font-weight:400}
        .method{color:var(--accent)}
        .lead{margin:.25rem 0;max-width:48rem}.lead strong{color:var(--in-ink)}
        .note{background:var(--own);color:var(--own-ink);padding:.6rem .9rem;border-radius:.5rem}
        table{width:100%;border-collapse:collapse;background:var(--sheet);border:1px solid var(--line);border-radius:.6rem;border-style:hidden;
        box-shadow:0 0 0 1px var(--line);overflow:hidden;font-size:.9rem}
        th,td{text-align:left;vertical-align:top;padding:.5rem .8rem;border-top:1px solid var(--line)}
        thead th{color:var(--soft);font-weight:500}
        th[scope]{font-weight:600;width:17rem}thead th:nth-child(3){width:13rem}
        .from{display:inline-block;color:var(--soft);overflow-wrap:anywhere}.from b{font-weight:600}
        .injected{background:var(--in)}.injected th,.injected .from{color:var(--in-ink)}
        .injected th::before{content:"+ "}
        .own .from{color:var(--own-ink)}
        .removed th{color:var(--out-ink)}
        .cards{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(18rem,100%),1fr))}
        article{background:var(--sheet);border:1px solid var(--line);border-radius:.6rem;padding:1rem;display:flex;flex-direction:column;gap:.6rem}
        article p{margin:0;font-size:.9rem;flex:1}
        button,input{font:inherit;padding:.45rem .8rem;border-radius:.4rem;border:1px solid var(--line);min-width:0}
        button{background:var(--accent);border-color:var(--accent);color:var(--on-accent);cursor:pointer;align-self:start}
        button:disabled{opacity:.6;cursor:progress}
        input{background:var(--ground);color:var(--ink);width:100%}
        :focus-visible{outline:3px solid var(--accent);outline-offset:2px}
        output{font-size:.85rem;white-space:pre-wrap;min-height:1.4em}
        a{color:var(--accent)}
        footer{margin-top:2.25rem;font-size:.9rem}footer a{margin-right:.5em}
        @media(max-width:44rem){thead{position:absolute;clip-path:inset(50%)}tr,th[scope],td{display:block;width:auto}
        tr{border-top:1px solid var(--line);padding:.5rem .8rem}th,td{border:0;padding:.1rem 0}}

        """#

    static let trials: StaticString = #"""
        <article>
        <h3>Redirect</h3>
        <p>The origin answers 302; a rule decides whether the browser follows it, or authproxy does.</p>
        <button type="button" id="redirect">Follow a redirect</button>
        <output id="redirect-out" aria-live="polite"></output>
        </article>
        <article>
        <h3>Server-sent events</h3>
        <p>One event each second, passed on as it comes.</p>
        <button type="button" id="events">Stream events</button>
        <output id="events-out" aria-live="polite"></output>
        </article>
        <article>
        <h3>Upload</h3>
        <p>Posts 16 MiB that are counted and thrown away.</p>
        <button type="button" id="upload">Upload 16 MiB</button>
        <output id="upload-out" aria-live="polite"></output>
        </article>
        <article>
        <h3>WebSocket</h3>
        <p>A message goes through the tunnel and back.</p>
        <input id="websocket-text" value="hello" maxlength="200" aria-label="Message to send">
        <button type="button" id="websocket">Echo over a WebSocket</button>
        <output id="websocket-out" aria-live="polite"></output>
        </article>
        <article>
        <h3>Tracker</h3>
        <p>Asks for a script that a rule with <code>block</code> would keep from the origin.</p>
        <button type="button" id="tracker">Request /tracker.js</button>
        <output id="tracker-out" aria-live="polite"></output>
        </article>

        """#

    static let script: StaticString = #"""
        const $ = id => document.getElementById(id)
        const on = (id, act) => $(id)?.addEventListener('click', async () => {
          const button = $(id), say = text => { $(id + '-out').textContent = text }
          button.disabled = true
          try { await act(say, button) } catch (problem) { say('This did not work: ' + problem.message) }
          button.disabled = false
        })
        const ms = since => (performance.now() - since).toFixed(1) + ' ms'
        const json = async answer => {
          if (!answer.ok) throw new Error('status ' + answer.status)
          return answer.json()
        }
        const asJSON = {accept: 'application/json'}, base = document.body.dataset.base

        on('forge', async (say, button) => {
          const name = button.dataset.name
          const view = await json(await fetch(base + '/headers', {headers: {...asJSON, [name]: 'forged'}}))
          const got = view.fields.filter(field => field.name.toLowerCase() === name.toLowerCase())
          say(`Sent      ${name}: forged\n` + (got.map(field => `Received  ${field.name}: ${field.value}`).join('\n') || 'Received  nothing'))
        })
        on('redirect', async say => {
          const answer = await fetch(base + '/redirect', {headers: asJSON})
          const view = await json(answer)
          say(`${answer.redirected ? 'The browser' : 'authproxy itself'} followed the redirect; the origin saw ${view.target}, status ${answer.status}.`)
        })
        let source
        on('events', (say, button) => {
          const end = () => { source.close(); source = null; button.textContent = 'Stream events' }
          if (source) return end()
          const lines = []
          source = new EventSource(base + '/events')
          button.textContent = 'Stop'
          say('Waiting for the first one')
          source.onmessage = message => {
            const {count, time} = JSON.parse(message.data)
            lines.push(`Event ${count}, ${new Date(time).toLocaleTimeString()}`)
            say(lines.slice(-5).join('\n'))
            if (count === 60) end()
          }
          source.onerror = () => { end(); say([...lines.slice(-4), 'The stream has ended.'].join('\n')) }
        })
        on('upload', async say => {
          const start = performance.now()
          say('Sending')
          const {received} = await json(await fetch(base + '/upload', {method: 'POST', headers: asJSON, body: new Uint8Array(16 << 20)}))
          const rate = received / 1048576 / ((performance.now() - start) / 1000)
          say(`The origin received ${received.toLocaleString()} bytes in ${ms(start)}: ${rate.toFixed(0)} MiB/s.`)
        })
        on('websocket', say => new Promise((done, fail) => {
          const text = $('websocket-text').value, start = performance.now()
          const socket = new WebSocket(location.origin.replace(/^http/, 'ws') + base + '/websocket')
          let opened, sent
          socket.onopen = () => { opened = ms(start); sent = performance.now(); socket.send(text) }
          socket.onmessage = message => {
            say(`Open after ${opened}; “${message.data}” came back after ${ms(sent)}.`)
            socket.close(1000)
            done()
          }
          socket.onclose = () => fail(new Error('the connection was closed'))
        }))
        on('tracker', async say => {
          const answer = await fetch(base + '/tracker.js'), text = await answer.text()
          say(text.includes('authproxy demo')
            ? `Not blocked: the origin's script came, ${text.length} bytes. A rule with match: {path: /tracker.js} and block: true stops it.`
            : `Blocked: the origin was not asked. Status ${answer.status}, ${text.length} bytes of ${answer.headers.get('content-type') ?? 'nothing'}.`)
        })
        $('trials').hidden = false

        """#
}
