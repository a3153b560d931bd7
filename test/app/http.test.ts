import { once } from 'node:events'
import { expect } from 'chai'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { openSocket, readToEnd, sendRaw, splitAnswers } from '../support/raw-http.ts'

/** Spellings of an id that `Number` accepts, but that are not the id. */
const spellings = (id: number) => [
  `0x${id.toString(16)}`,
  `0${id}`,
  `+${id}`,
  `%20${id}`,
  `${id}e0`,
  `${id}.0`,
  `-${id}`,
]

describe('HTTP', () => {
  let gateway: RunningGateway
  let user: TestUser
  let ruleId: number

  before(async () => {
    gateway = await startGateway()
    user = await newUser(gateway)
    ruleId = (await user.call('POST', '/v1/routing-rules', routingRuleBody())).body.data.id
  })
  after(() => gateway.stop())

  const asAdmin = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)

  describe('ids', () => {
    it('are canonical integers on /admin: other spellings are 404 and change nothing', async () => {
      const before = (await asAdmin('GET', '/admin/users')).body
      for (const id of spellings(user.id)) {
        expect((await asAdmin('PATCH', `/admin/users/${id}`, { plan: 'free' })).status, id).to.equal(404)
        expect((await asAdmin('POST', `/admin/users/${id}/keys`)).status, id).to.equal(404)
      }
      expect((await asAdmin('GET', '/admin/users')).body).to.deep.equal(before)
    })

    it('of rules are canonical integers, with the body of an unknown id', async () => {
      for (const path of ['/v1/routing-rules', '/v1/firewall-rules', '/v1/tool-rules']) {
        const unknown = await user.call('GET', `${path}/987654321`)
        for (const id of spellings(ruleId)) {
          const { status, body } = await user.call('GET', `${path}/${id}`)
          expect(status, id).to.equal(404)
          expect(body).to.deep.equal(unknown.body)
        }
      }
    })
  })

  describe('query parameters', () => {
    it('that are unknown are 400 and named, on every endpoint', async () => {
      const paths = [
        '/v1/routing-rules',
        `/v1/routing-rules/${ruleId}`,
        '/v1/firewall-rules',
        '/v1/audit',
        '/v1/rules/diff',
        '/v1/models',
        '/v1/models/gpt-4o',
        '/v1/responses/resp_x/input_items',
        '/healthz',
        '/openapi.json',
      ]
      for (const path of paths) {
        for (const name of ['asof', 'AS_OF', 'as_of[]', '__proto__', 'constructor']) {
          const { status, body, headers } = await user.call('GET', `${path}?${name}=1`)
          expect(status, `${path} ${name}`).to.equal(400)
          expect(body.error.message).to.contain(name)
          expect(headers.get('x-error-code')).to.equal('invalid_value')
        }
      }
    })

    it('that are repeated, empty or malformed are 400 and named', async () => {
      const { id } = (await user.call('POST', '/v1/responses', { input: 'Hello' })).body
      const cases = {
        '/v1/routing-rules?as_of=1&as_of=2': 'as_of',
        '/v1/routing-rules?as_of=': 'as_of',
        [`/v1/responses/${id}?stream=AAA`]: 'stream',
        [`/v1/responses/${id}?stream=`]: 'stream',
        [`/v1/responses/${id}/input_items?order=up`]: 'order',
        [`/v1/responses/${id}/input_items?limit=0`]: 'limit',
        [`/v1/responses/${id}/input_items?limit=101`]: 'limit',
        '/v1/audit?limit=0x5': 'limit',
        '/v1/audit?kind=nothing': 'kind',
      }
      for (const [path, name] of Object.entries(cases)) {
        const { status, body } = await user.call('GET', path)
        expect(status, path).to.equal(400)
        expect(body.error.message, path).to.match(new RegExp(`^${name} `))
      }
    })

    it('that OpenAI clients send for stored responses are accepted', async () => {
      const openai = gateway.openai(user.key)
      const { id } = await openai.responses.create({ model: 'gpt-4o', input: 'Hello' })
      const include = ['message.output_text.logprobs' as const]
      expect((await openai.responses.retrieve(id, { include })).id).to.equal(id)
      const items = await openai.responses.inputItems.list(id, { include, order: 'asc', limit: 1 })
      expect(items.data).to.have.length(1)
    })
  })

  describe('paths', () => {
    it('are exact: letter case and a trailing slash count', async () => {
      for (const path of [
        '/ADMIN/USERS',
        '/admin/users/',
        '/V1/models',
        '/v1/models/',
        '/healthz/',
        '/Healthz',
      ]) {
        const { status, body, headers } = await asAdmin('GET', path)
        expect(status, path).to.equal(404)
        expect(body.error).to.include({ type: 'not_found_error', http_status: 404, code: 'not_found' })
        expect(headers.get('x-error-code')).to.equal('not_found')
      }
    })

    it('may have percent-encoded unreserved characters', async () => {
      expect((await user.call('GET', '/v1/%6dodels')).status).to.equal(200)
      expect((await user.call('GET', `/v1/routing%2Drules/${ruleId}`)).status).to.equal(200)
      expect((await user.call('GET', '/v1%2Fmodels')).status).to.equal(404)
      const body = { messages: [{ role: 'user', content: 'Hello' }] }
      expect((await user.call('POST', '/v1/chat/%63ompletions', body)).status).to.equal(200)
    })

    it('with other methods get 405 with allow', async () => {
      const { status, headers } = await user.call('PUT', `/v1/routing-rules/${ruleId}`)
      expect(status).to.equal(405)
      expect(headers.get('allow')?.split(', ').sort()).to.deep.equal(['DELETE', 'GET', 'HEAD', 'PATCH'])
      expect(headers.get('x-error-code')).to.equal('method_not_allowed')
    })

    it('allow the methods of themselves, not those of a path with a parameter in their place', async () => {
      for (const method of ['PUT', 'GET', 'HEAD', 'DELETE']) {
        const { status, headers } = await user.call(method, '/v1/responses/compact')
        expect([status, headers.get('allow')], method).to.deep.equal([405, 'POST'])
      }
    })

    it('may be read with HEAD', async () => {
      const { status, headers, body } = await user.call('HEAD', `/v1/routing-rules/${ruleId}`)
      expect(status).to.equal(200)
      expect(headers.get('etag')).to.equal('"1"')
      expect(body ?? '').to.equal('')
    })
  })

  describe('conditional requests', () => {
    for (const [path, rule] of [
      ['/v1/routing-rules', routingRuleBody],
      ['/v1/firewall-rules', firewallRuleBody],
    ] as const) {
      it(`accept a list, weak tags and * in If-Match: ${path}`, async () => {
        const { id } = (await user.call('POST', path, rule())).body.data
        const change = (etag: string, priority: number) =>
          user.call('PATCH', `${path}/${id}`, { priority }, { 'if-match': etag })
        for (const [index, etag] of ['"0", "1"', 'W/"2"', '*', '"x" ,W/"4", "9"'].entries())
          expect((await change(etag, index + 1)).status, etag).to.equal(200)
        expect((await change('"0", "1"', 9)).status).to.equal(412)
        for (const etag of ['5', '"5', '', ',', '"5" "6"', '"5",x']) {
          const { status, headers } = await change(etag, 9)
          expect(status, etag).to.equal(400)
          expect(headers.get('x-error-code')).to.equal('invalid_value')
        }
      })

      it(`are 404 for an unknown rule, whatever the header: ${path}`, async () => {
        for (const etag of ['"1"', 'malformed']) {
          const headers = { 'if-match': etag }
          expect((await user.call('PATCH', `${path}/987654321`, {}, headers)).status).to.equal(404)
          expect((await user.call('DELETE', `${path}/987654321`, undefined, headers)).status).to.equal(404)
          const revert = await user.call('POST', `${path}/987654321/revert`, { revision: 1 }, headers)
          expect(revert.status).to.equal(404)
        }
      })

      it(`are 304 if the client has the current content: ${path}`, async () => {
        const { id } = (await user.call('POST', path, rule())).body.data
        const read = (etag: string) => user.call('GET', `${path}/${id}`, undefined, { 'if-none-match': etag })
        for (const etag of ['"1"', 'W/"1"', '*', '"7", "1"']) {
          const { status, headers, body } = await read(etag)
          expect(status, etag).to.equal(304)
          expect(headers.get('etag')).to.equal('"1"')
          expect(body ?? '').to.equal('')
        }
        expect((await read('"2"')).status).to.equal(200)
        expect((await read('malformed')).status).to.equal(200)
      })
    }
  })

  describe('bodies', () => {
    it('of rules with unknown fields are refused, and the fields named', async () => {
      const routing = await user.call('PATCH', `/v1/routing-rules/${ruleId}`, { actoin: {} })
      expect(routing.status).to.equal(422)
      expect(routing.body.error.errors.actoin[0]).to.match(/^actoin is not a field of the rule\. Use name, /)
      const created = await user.call('POST', '/v1/firewall-rules', firewallRuleBody())
      const { id } = created.body.data
      const firewall = await user.call('PATCH', `/v1/firewall-rules/${id}`, { actoin: 'block' })
      expect(firewall.status).to.equal(400)
      expect(firewall.body.error.message).to.contain('actoin')
    })

    it('of rules may have the read-only fields that responses have', async () => {
      for (const path of ['/v1/routing-rules', '/v1/firewall-rules']) {
        const body =
          path === '/v1/routing-rules' ? routingRuleBody() : firewallRuleBody({ type: 'regex', pattern: '(' })
        const created = (await user.call('POST', path, body)).body.data
        const { status, body: changed } = await user.call('PATCH', `${path}/${created.id}`, created)
        expect(status, JSON.stringify(changed)).to.equal(200)
      }
    })

    it('of operators with unknown fields are refused, and the fields named', async () => {
      for (const [method, path] of [
        ['POST', '/admin/users'],
        ['PATCH', `/admin/users/${user.id}`],
      ] as const) {
        const { status, body } = await asAdmin(method, path, { name: 'A', plan: 'paid', paln: 'free' })
        expect(status).to.equal(400)
        expect(body.error.message).to.contain('"')
      }
    })

    it('in strings cannot hold what cannot be sent back', async () => {
      const match_json = '{"metadata_equals":{"__proto__":"x"}}'
      const { status, body } = await user.call('POST', '/v1/routing-rules', {
        ...routingRuleBody(),
        match_json,
      })
      expect(status).to.equal(422)
      expect(body.error.errors).to.have.keys('match_json')
    })

    it('that are empty count as none, with and without a length', async () => {
      const head = `PATCH /v1/routing-rules/${ruleId} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`
      const key = `Authorization: Bearer ${user.key}\r\n`
      for (const length of ['', 'Content-Length: 0\r\n']) {
        const [answer] = splitAnswers(await sendRaw(gateway.url, `${head}${key}${length}\r\n`))
        expect(answer?.status, length).to.equal(400)
        expect(answer?.body).to.contain('must be a JSON object')
      }
    })
  })

  describe('users', () => {
    it('are listed in pages', async () => {
      for (let count = 0; count < 3; count++) await newUser(gateway)
      const all = (await asAdmin('GET', '/admin/users?limit=1000')).body
      expect(all.next_cursor).to.equal(null)
      const paged: unknown[] = []
      for (let cursor = ''; ; ) {
        const { body } = await asAdmin('GET', `/admin/users?limit=2${cursor}`)
        expect(body.data.length).to.be.within(1, 2)
        paged.push(...body.data)
        if (body.next_cursor === null) break
        cursor = `&cursor=${body.next_cursor}`
      }
      expect(paged).to.deep.equal(all.data)
      expect((await asAdmin('GET', '/admin/users?cursor=x')).status).to.equal(400)
    })
  })

  describe('connections', () => {
    const post = (path: string, key: string, headers: string) =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${headers}\r\n`

    it('close after a 413, and the rest of the body is not read', async () => {
      const length = 1_000_000_000
      const text = await sendRaw(
        gateway.url,
        post('/v1/chat/completions', user.key, `Content-Length: ${length}\r\n`),
      )
      const [answer] = splitAnswers(text)
      expect(answer?.status).to.equal(413)
      expect(answer?.headers.get('x-error-code')).to.equal('body_too_large')
      expect(answer?.headers.get('connection')).to.equal('close')
    })

    it('close after a 401 for a body over 64 KB, and stay open for a smaller one', async () => {
      for (const headers of ['Content-Length: 100000\r\n', 'Transfer-Encoding: chunked\r\n']) {
        const [answer] = splitAnswers(await sendRaw(gateway.url, post('/v1/chat/completions', 'no', headers)))
        expect(answer?.status).to.equal(401)
        expect(answer?.headers.get('connection')).to.equal('close')
      }
      const body = ' '.repeat(60_000)
      const small = post('/v1/chat/completions', 'no', `Content-Length: ${body.length}\r\n`) + body
      const next = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
      const answers = splitAnswers(await sendRaw(gateway.url, small + next))
      expect(answers.map(({ status }) => status)).to.deep.equal([401, 200])
    })

    it('get 100 (Continue) only once the caller is admitted', async () => {
      const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] })
      const headers = `Expect: 100-continue\r\nConnection: close\r\nContent-Length: `
      const refused = {
        401: post('/v1/chat/completions', 'no', `${headers}${body.length}\r\n`),
        413: post('/v1/chat/completions', user.key, `${headers}999999999\r\n`),
        404: post('/v1/nothing', user.key, `${headers}${body.length}\r\n`),
      }
      for (const [status, bytes] of Object.entries(refused)) {
        const [answer] = splitAnswers(await sendRaw(gateway.url, bytes))
        expect(answer?.status).to.equal(Number(status))
      }
      const socket = await openSocket(gateway.url)
      socket.write(post('/v1/chat/completions', user.key, `${headers}${body.length}\r\n`))
      const [interim] = await once(socket, 'data')
      expect(String(interim)).to.equal('HTTP/1.1 100 Continue\r\n\r\n')
      socket.write(body)
      const [answer] = splitAnswers(await readToEnd(socket))
      expect(answer?.status).to.equal(200)
    })

    it('get 417 in the usual form for any other expectation', async () => {
      const [answer] = splitAnswers(
        await sendRaw(gateway.url, 'GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: magic\r\n\r\n'),
      )
      expect(answer?.status).to.equal(417)
      expect(answer?.headers.get('x-error-code')).to.equal('expectation_failed')
      expect(JSON.parse(answer?.body ?? '').error).to.include({ http_status: 417 })
    })

    it('get the answer of a change that was made when garbage follows it', async () => {
      const body = JSON.stringify(routingRuleBody({ name: 'Before the garbage' }))
      const bytes = post('/v1/routing-rules', user.key, `Content-Length: ${body.length}\r\n`) + body
      const answers = splitAnswers(await sendRaw(gateway.url, `${bytes}\0garbage\r\n\r\n`))
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 400])
      const { body: list } = await user.call('GET', '/v1/routing-rules')
      const { id } = JSON.parse(answers[0]?.body ?? '').data
      expect(list.data.map((rule: { id: number }) => rule.id)).to.include(id)
    })
  })
})
