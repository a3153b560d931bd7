import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { AS_ADMIN, startGateway } from '../support/gateway.ts'
import { readLog } from '../support/gateway-log.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { scrapePage, scrapeUntil } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { ROOT } from '../support/root.ts'
import { ROUNDS } from '../support/rounds.ts'
import { withSettings } from '../support/settings.ts'
import { streamText } from '../support/streams.ts'
import { connectToEach, expectExactLimit, isAlive, openConnection, workerPids } from '../support/workers.ts'
import { parseYaml } from '../support/yaml.ts'

describe('several workers', () => {
  let gateway: GatewayProcess
  before(async () => {
    const settings = await withSettings(
      'rate_limits: { requests_per_minute: { free: 60, paid: null } }\n' +
        'limits: { auth_failures_per_minute: null }\nledger: { record_prompts: full }\n',
    )
    const RECORD_KEY = randomBytes(32).toString('hex')
    gateway = await startGatewayProcess({ ...settings, RECORD_KEY, WORKERS: '3' })
  })
  after(() => gateway?.stop())

  it('print one ready line, one key and their number', async () => {
    expect(gateway.stderr().match(/Signalbox serves at/g)).to.have.length(1)
    expect(gateway.stderr().match(/SIGNALBOX_KEY=/g)).to.have.length(1)
    expect(gateway.stderr()).to.contain('workers: 3')
    const pids = await workerPids(gateway, 3)
    expect([...pids.keys()].sort()).to.deep.equal([1, 2, 3])
    expect([...pids.values()].every(isAlive)).to.equal(true)
    expect([...pids.values()]).not.to.include(gateway.process.pid)
  })

  it('let operators watch and evaluate the requests of all of them on any of them', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const before = (await each[0]!.call('GET', '/admin/requests?limit=1000', undefined, AS_ADMIN)).body.data
    const watching = await fetch(`${gateway.url}/admin/live`, { headers: AS_ADMIN })
    const reader = watching.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader.read()).value ?? ''
    const ids = new Set<string | null>()
    for (const { call } of each) {
      const { headers } = await call('POST', '/v1/chat/completions', chatBody('hello'))
      ids.add(headers.get('x-request-id'))
    }
    const seen = () => new Set([...text.matchAll(/"x_request_id":"(req_\w+)"/g)].map(([, id]) => id))
    while (seen().size < ids.size) text += (await reader.read()).value ?? expect.fail('the stream ended')
    expect(seen()).to.deep.equal(ids)
    await reader.cancel()

    const requests = before.length + 3
    for (const connection of each) {
      const { body } = await connection.call('POST', '/admin/what-if', { file: {} }, AS_ADMIN)
      expect(body.data, JSON.stringify(body)).to.include({ requests, evaluated: requests })
      const { data } = (await connection.call('GET', '/admin/overview?range=1h', undefined, AS_ADMIN)).body
      expect(data.totals.requests).to.equal(requests)
      connection.close()
    }
  })

  it('share sessions of the console, which all of them end', async () => {
    const operator = await newOperator(gateway, 'editor')
    const each = [...(await connectToEach(gateway, 3)).values()]
    const signIn = await each[0]?.call('POST', '/console/session', undefined, operator.headers)
    const [cookie = ''] = (signIn?.headers.get('set-cookie') ?? '').split(';')
    const session = { authorization: '', cookie }
    const change = { ...session, 'x-csrf-token': signIn?.body.data.csrf_token }
    for (const [index, { call }] of each.entries()) {
      expect((await call('GET', '/admin/policies', undefined, session)).status).to.equal(200)
      const group = { name: `Group of worker ${index}` }
      expect((await call('POST', '/admin/groups', group, change)).status).to.equal(201)
    }
    await each[1]?.call('DELETE', '/console/session', undefined, change)
    for (const { call } of each)
      expect((await call('GET', '/admin/policies', undefined, session)).status).to.equal(401)
    const again = await each[0]?.call('POST', '/console/session', undefined, operator.headers)
    session.cookie = (again?.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    for (const { call } of each)
      expect((await call('GET', '/admin/policies', undefined, session)).status).to.equal(200)
    await gateway.call('DELETE', `/admin/operators/${operator.id}`, undefined, AS_ADMIN)
    for (const { call, close } of each) {
      expect((await call('GET', '/admin/policies', undefined, session)).status).to.equal(401)
      close()
    }
  })

  it('all serve behind the same ports', async () => {
    const each = await connectToEach(gateway, 3)
    for (const connection of each.values()) {
      const { status } = await connection.call('POST', '/v1/chat/completions', chatBody('Hello'))
      expect(status).to.equal(200)
      connection.close()
    }
    for (let n = 0; n < 6; n++) {
      const response = await fetch(`${gateway.routeUrl}/route`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.demoKey}`,
          'content-type': 'application/json',
          connection: 'close',
        },
        body: JSON.stringify({ prompt: 'Hello' }),
      })
      expect(response.status).to.equal(200)
      await response.text()
    }
  })

  it('apply a change of rules to the next request, whichever worker received it', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const rule = firewallRuleBody({ name: 'Never', pattern: 'never-said', action: 'block' })
    const created = await each[0]!.call('POST', '/v1/firewall-rules', rule)
    const path = `/v1/firewall-rules/${created.body.data.id}`
    for (let n = 0; n < ROUNDS.workerChanges; n++) {
      const writer = each[n % 3]!
      const changed = await writer.call('PATCH', path, { pattern: `word-${n}-` })
      expect(changed.status).to.equal(200)
      const answers = await Promise.all(
        each.map((connection) => connection.call('POST', '/v1/chat/completions', chatBody(`word-${n}-`))),
      )
      expect(answers.map(({ status }) => status)).to.deep.equal([403, 403, 403])
      const read = await Promise.all(each.map((connection) => connection.call('GET', path)))
      for (const { body } of read) expect(body.data.pattern).to.equal(`word-${n}-`)
    }
    await each[0]!.call('DELETE', path)
    for (const connection of each) connection.close()
  })

  it('refuse a revoked key from the next request on', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    for (let n = 0; n < ROUNDS.workerKeys; n++) {
      const { body } = await each[n % 3]!.call('POST', '/admin/users/1/keys', undefined, AS_ADMIN)
      const bearer = { authorization: `Bearer ${body.data.key}` }
      const ask = () =>
        Promise.all(each.map((connection) => connection.call('GET', '/v1/models', undefined, bearer)))
      expect((await ask()).map(({ status }) => status)).to.deep.equal([200, 200, 200])
      await each[(n + 1) % 3]!.call('DELETE', `/admin/keys/${body.data.id}`, undefined, AS_ADMIN)
      expect((await ask()).map(({ status }) => status)).to.deep.equal([401, 401, 401])
    }
    for (const connection of each) connection.close()
  })

  it('apply policies and memberships to the next request, whichever worker received the change', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const admin = async (n: number, method: string, path: string, body?: object) =>
      (await each[n]!.call(method, path, body, AS_ADMIN)).body.data
    const { id: group } = await admin(0, 'POST', '/admin/groups', { name: 'Support' })
    const { id: policy } = await admin(1, 'POST', '/admin/policies', {
      ...{ name: 'Guard', is_enabled: true, priority: 0 },
      applies_to: { groups: [group] },
    })
    const rule = firewallRuleBody({ name: 'Never', pattern: 'never-said', action: 'block' })
    await admin(2, 'POST', `/admin/policies/${policy}/firewall-rules`, rule)
    const ask = async () => {
      const calls = each.map((connection) =>
        connection.call('POST', '/v1/chat/completions', chatBody('never-said')),
      )
      return (await Promise.all(calls)).map(({ status }) => status)
    }
    for (let n = 0; n < 3; n++) {
      expect(await ask()).to.deep.equal([200, 200, 200])
      await admin(n, 'PUT', `/admin/groups/${group}/members/1`)
      expect(await ask()).to.deep.equal([403, 403, 403])
      await admin((n + 1) % 3, 'PATCH', `/admin/policies/${policy}`, { is_enabled: false })
      expect(await ask()).to.deep.equal([200, 200, 200])
      await admin((n + 2) % 3, 'PATCH', `/admin/policies/${policy}`, { is_enabled: true })
      expect(await ask()).to.deep.equal([403, 403, 403])
      await admin(n, 'DELETE', `/admin/groups/${group}/members/1`)
    }
    for (const connection of each) connection.close()
  })

  it('refuse the key of a removed operator, and of one with another role, from the next request on', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const created = await each[0]!.call('POST', '/admin/operators', { name: 'Eve', role: 'admin' }, AS_ADMIN)
    const { id, key } = created.body.data
    const bearer = { authorization: `Bearer ${key}` }
    const ask = async () => {
      const calls = each.map((connection) => connection.call('GET', '/admin/users', undefined, bearer))
      return (await Promise.all(calls)).map(({ status }) => status)
    }
    expect(await ask()).to.deep.equal([200, 200, 200])
    await each[1]!.call('PATCH', `/admin/operators/${id}`, { role: 'auditor' }, AS_ADMIN)
    const create = await each[2]!.call('POST', '/admin/users', { name: 'x', plan: 'free' }, bearer)
    expect(create.status).to.equal(403)
    await each[2]!.call('DELETE', `/admin/operators/${id}`, undefined, AS_ADMIN)
    expect(await ask()).to.deep.equal([401, 401, 401])
    for (const connection of each) connection.close()
  })

  it('return the records of requests to other workers, to their owner only', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const { body } = await each[0]!.call('POST', '/v1/chat/completions', chatBody('Hello'))
    const path = `/v1/requests/${body.x_request_id}`
    for (const connection of each) {
      const shown = await connection.call('GET', path)
      expect(shown.status).to.equal(200)
      expect(shown.body.data).to.include({ x_request_id: body.x_request_id, outcome: 'answered' })
      const unknown = await connection.call('GET', '/v1/requests/req_000000000000000000000000')
      expect(unknown.status).to.equal(404)
    }
    const user = await newUser(gateway)
    expect((await user.call('GET', path)).status).to.equal(404)
    for (const connection of each) connection.close()
  })

  it('replay responses created by other workers, and not deleted ones', async () => {
    const each = [...(await connectToEach(gateway, 3)).values()]
    const made = await each[0]!.call('POST', '/v1/responses', { model: 'gpt-4o', input: 'Hello' })
    const path = `/v1/responses/${made.body.id}`
    for (const connection of each) {
      const replayed = await connection.call('POST', path, {})
      expect(replayed.body.output).to.deep.equal(made.body.output)
    }
    expect((await each[1]!.call('DELETE', path)).status).to.equal(200)
    for (const connection of each) expect((await connection.call('GET', path)).status).to.equal(404)
    for (const connection of each) connection.close()
  })

  it('write complete log lines, each with the number of its worker', async () => {
    await Promise.all(
      Array.from({ length: 300 }, async () => {
        const connection = openConnection(gateway, { keepAlive: false })
        await connection.call('GET', '/v1/models')
      }),
    )
    const served = readLog(gateway).filter(({ msg }) => msg === 'request')
    expect(new Set(served.map(({ worker }) => worker))).to.deep.equal(new Set([1, 2, 3]))
  })

  it('allow 64 clients exactly as many requests as the rate limit', () => expectExactLimit(gateway))

  it('serve metrics of all of them, which are documented', async () => {
    const text = await readFile(new URL('docs/metrics.md', ROOT), 'utf8')
    const { names, sum } = await scrapePage(`${gateway.url}/metrics`, AS_ADMIN)
    expect(sum('signalbox_workers', { state: 'serving' })).to.equal(3)
    const bases = [...names].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
    expect(
      bases.filter((name) => !/^(nodejs|process)_/.test(name) && !text.includes(`\`${name}\``)),
    ).to.deep.equal([])
  })

  it('serve, with a single process, every metric and label that dashboard and alerts use', async () => {
    const single = await startGateway()
    await single.call('POST', '/v1/chat/completions', chatBody('Hello'))
    await streamText(single, chatBody('Hello'))
    await single.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'Hello', action: 'warn' }))
    await single.call('POST', '/v1/firewall-rules', firewallRuleBody({ type: 'regex', pattern: '(' }))
    await single.call('POST', '/v1/chat/completions', chatBody('Hello'))
    await single.call('POST', '/admin/tool-servers', { name: 'files', url: 'http://127.0.0.1:1' }, AS_ADMIN)
    const call = { server: 'files', tool: 'read' }
    expect((await callToolRaw(single, single.demoKey, call)).body.error).to.be.an('object')
    const { names, samples } = await scrapeUntil(
      single,
      ({ sum }) => sum('signalbox_rule_actions_total') === 1,
    )
    const ofSeveral = await scrapePage(`${gateway.url}/metrics`, AS_ADMIN)
    await single.stop()
    const [allNames, allSamples] = [
      [...names, ...ofSeveral.names],
      [...samples, ...ofSeveral.samples],
    ]
    const dashboard = JSON.parse(
      await readFile(new URL('config/deploy/grafana/dashboard.json', ROOT), 'utf8'),
    )
    const alerts = parseYaml(await readFile(new URL('config/deploy/alerts.yml', ROOT), 'utf8'))
    const expressions: string[] = [
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }: { expr: string }) => expr)),
      ...alerts.groups.flatMap(({ rules }: { rules: { expr: string }[] }) => rules.map(({ expr }) => expr)),
    ]
    expect(expressions.length).to.be.above(30)
    // `up` is a metric of Prometheus itself.
    for (const expression of expressions.filter((text) => !/^up\b/.test(text))) {
      const used = [
        ...expression.matchAll(/\b((?:signalbox|nodejs|process|gen_ai_client)_\w+)(?:\{(.*?)\})?/g),
      ]
      expect(used, expression).not.to.deep.equal([])
      for (const [, name = '', selector = ''] of used) {
        expect(allNames, expression).to.include(name)
        const labels = allSamples
          .filter((sample) => sample.name === name)
          .flatMap(({ labels }) => Object.keys(labels))
        for (const [, label] of selector.matchAll(/(\w+)\s*[=!]~?/g))
          expect(['instance', ...labels], expression).to.include(label)
      }
    }
  })
})
