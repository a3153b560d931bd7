import { expect } from 'chai'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const PAGE = 'https://app.example.com'

const EXPECTED = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

const chat = (more: object = {}) =>
  JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], ...more })

describe('headers for browsers', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const post = (path: string, body: string, base = gateway.url) =>
    fetch(base + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body,
    })

  it('are on every response: whole, streamed, refused, not found, on each address', async () => {
    const answers = [
      await post('/v1/chat/completions', chat()),
      await post('/v1/chat/completions', chat({ stream: true })),
      await post('/v1/chat/completions', '{'),
      await post('/v1/responses', JSON.stringify({ input: 'Hello' })),
      await post('/route', JSON.stringify({ prompt: 'Hello' }), gateway.routeUrl),
      await fetch(`${gateway.url}/v1/models`),
      await fetch(`${gateway.url}/admin/users`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } }),
      await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } }),
      await fetch(`${gateway.url}/openapi.json`),
      await fetch(`${gateway.url}/healthz`),
      await fetch(`${gateway.url}/no/such/path`, { method: 'PUT' }),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([
      200, 200, 400, 200, 200, 401, 200, 200, 200, 200, 404,
    ])
    for (const { headers, url } of answers) {
      const found = Object.fromEntries(Object.keys(EXPECTED).map((name) => [name, headers.get(name)]))
      expect(found, url).to.deep.equal(EXPECTED)
      expect(headers.get('cache-control'), url).to.match(/^no-store/)
      for (const name of [
        'x-powered-by',
        'server',
        'strict-transport-security',
        'access-control-allow-origin',
      ])
        expect(headers.has(name), name).to.equal(false)
    }
    expect(answers[1]?.headers.get('cache-control')).to.equal('no-store, no-transform')
    await Promise.all(answers.map((answer) => answer.text()))
  })

  it('are on the separate metrics address', async () => {
    const other = await startGateway({ METRICS_PORT: '0' })
    const [, url = ''] = other.stderr().match(/"url":"([^"]+)"/) ?? []
    const { headers } = await fetch(url)
    expect(headers.get('x-content-type-options')).to.equal('nosniff')
    await other.stop()
  })

  it('require TLS only if configured', async () => {
    const other = await startGateway(await withSettings(`${UNLIMITED}hsts_seconds: 31536000\n`))
    const { headers } = await fetch(`${other.url}/healthz`)
    expect(headers.get('strict-transport-security')).to.equal('max-age=31536000')
    await other.stop()
  })

  it('admit no other origin by default', async () => {
    const preflight = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: { origin: PAGE, 'access-control-request-method': 'POST' },
    })
    expect(preflight.status).to.equal(405)
    expect(preflight.headers.has('access-control-allow-origin')).to.equal(false)
  })
})

describe('pages of other origins (CORS)', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway(
      await withSettings(`${UNLIMITED}cors: { origins: ['${PAGE}', 'app://desk'] }\n`),
    )
  })
  after(() => gateway.stop())

  const preflight = (origin: string, names?: string, url = `${gateway.url}/v1/chat/completions`) =>
    fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        ...(names && { 'access-control-request-headers': names }),
      },
    })

  it('get preflight responses without a key', async () => {
    const names = 'authorization,content-type,x-stainless-lang'
    for (const url of [undefined, `${gateway.routeUrl}/route`]) {
      const { status, headers } = await preflight(PAGE, names, url)
      expect(status).to.equal(204)
      expect(headers.get('access-control-allow-origin')).to.equal(PAGE)
      expect(headers.get('access-control-allow-methods')).to.equal('GET, POST, PATCH, DELETE')
      expect(headers.get('access-control-allow-headers')).to.equal(names)
      expect(headers.get('access-control-max-age')).to.equal('600')
      expect(headers.get('vary')).to.match(/\bOrigin\b/)
      expect(headers.has('access-control-allow-credentials')).to.equal(false)
    }
  })

  it('may read responses, errors and streams, with the exposed headers', async () => {
    const ask = (body: string, key = gateway.demoKey) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', origin: PAGE },
        body,
      })
    for (const answer of [await ask(chat()), await ask(chat({ stream: true })), await ask(chat(), 'no')]) {
      expect(answer.headers.get('access-control-allow-origin')).to.equal(PAGE)
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).to.include.members([
        ...['x-request-id', 'request-id', 'x-provider', 'x-model', 'x-routing-mode', 'retry-after'],
        ...['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}-requests`),
      ])
      expect(answer.headers.get('vary')).to.match(/\bOrigin\b/)
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
      const caching = isStream ? 'no-store, no-transform' : 'no-store'
      expect(answer.headers.get('cache-control')).to.equal(caching)
      await answer.text()
    }
  })

  it('may have a custom scheme', async () => {
    expect((await preflight('app://desk')).headers.get('access-control-allow-origin')).to.equal('app://desk')
  })

  it('must match an allowed origin exactly', async () => {
    for (const origin of [
      `${PAGE}.evil.com`,
      'http://app.example.com',
      `${PAGE}:8443`,
      'null',
      'https://evil.com',
    ]) {
      const { status, headers } = await preflight(origin, 'authorization')
      expect(status, origin).to.equal(405)
      expect(headers.has('access-control-allow-origin'), origin).to.equal(false)
      expect(headers.get('vary'), origin).to.match(/\bOrigin\b/)
    }
  })

  it('get no invalid header names back', async () => {
    const { headers } = await preflight(PAGE, 'x-a; x-b')
    expect(headers.has('access-control-allow-headers')).to.equal(false)
  })

  it('do not affect other clients and other OPTIONS requests', async () => {
    const plain = await fetch(`${gateway.url}/healthz`)
    expect(plain.status).to.equal(200)
    expect(plain.headers.has('access-control-allow-origin')).to.equal(false)
    expect(plain.headers.get('vary')).to.match(/\bOrigin\b/)
    const options = await fetch(`${gateway.url}/healthz`, { method: 'OPTIONS', headers: { origin: PAGE } })
    expect(options.headers.has('access-control-allow-methods')).to.equal(false)
  })

  it('may all be allowed, without credentials', async () => {
    const other = await startGateway(await withSettings(`${UNLIMITED}cors: { origins: ['*'] }\n`))
    const { status, headers } = await preflight(
      'https://anybody.example',
      'authorization',
      `${other.url}/v1/models`,
    )
    expect(status).to.equal(204)
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    expect(headers.has('access-control-allow-credentials')).to.equal(false)
    await other.stop()
  })
})
