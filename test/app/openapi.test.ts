import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type Router from '@koa/router'
import { expect } from 'chai'
import { readSettings } from '../../config/settings/settings.ts'
import { DOCUMENTED, startDocumentedGateway } from '../support/documented-gateway.ts'
import { makeFolder } from '../support/folders.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { readGenerated } from '../support/generated-text.ts'
import { createJudge, type Described, type Loose, operationsOf } from '../support/openapi.ts'
import { createSender, NEW_RULES } from '../support/openapi-sender.ts'
import { writeErrorTable } from '../support/reference-tables.ts'
import { IS_FULL, sample } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { writeSettings } from '../support/settings-file.ts'

describe('/openapi.json', () => {
  let gateway: RunningGateway
  let document: Loose
  let judging: ReturnType<typeof createJudge>

  before(async () => {
    const environment = {
      ...(await withSettings(
        `${UNLIMITED}limits: { auth_failures_per_minute: null }\nledger: { record_prompts: full }\n${DOCUMENTED}`,
      )),
      RECORD_KEY: '0'.repeat(64),
    }
    // The second start finds the checkpoint that the first one has signed when it stopped.
    const { dataDir, demoKey, stop } = await startGateway(environment)
    await stop()
    gateway = await startGateway(environment, { dataDir, demoKey })
    document = (await gateway.call('GET', '/openapi.json', undefined, { authorization: '' })).body
    judging = createJudge(document)
  })
  after(() => gateway.stop())

  const resolve = (schema: Loose): Loose =>
    schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)]

  it('is an OpenAPI 3.1 document whose schemas compile, with summary and responses for every operation', () => {
    expect(document.openapi).to.equal('3.1.0')
    const { compile } = judging
    for (const name of Object.keys(document.components.schemas)) compile('components', 'schemas', name)
    const operations = operationsOf(document)
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).to.equal(ids.length)
    for (const { method, path, operation, parameters, examples } of operations) {
      expect(operation.summary, path).to.match(/\.$/)
      expect(Object.keys(operation.responses), path).not.to.have.length(0)
      if (operation.requestBody !== undefined) expect(examples, path).not.to.have.length(0)
      const named = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`)
      expect(path.match(/\{\w+\}/g) ?? [], `${method} ${path}`).to.deep.equal(named)
      for (const parameter of parameters.filter(({ in: place }) => place === 'query'))
        expect(parameter, `${method} ${path}`).to.have.property('example')
    }
  })

  it('describes every property, and has no form that generators refuse', () => {
    const issues: string[] = []
    for (const [path, schema] of schemasOf(document.components.schemas, '')) {
      const types = [schema.type].flat().filter((type) => type !== 'null')
      if (types.length > 1) issues.push(`${path} has several types`)
      if (schema.if !== undefined) issues.push(`${path} has a condition`)
      if (Object.values<Loose>(schema.properties ?? {}).some(({ type }) => type === 'null'))
        issues.push(`${path} has a property that is null alone`)
      if (schema.type === 'boolean' && schema.const !== undefined) issues.push(`${path} has one value`)
      for (const [name, property] of Object.entries<Loose>(schema.properties ?? {}))
        if (!property.$ref && !property.description) issues.push(`${path}.${name} has no description`)
    }
    expect(issues).to.deep.equal([])
  })

  it('has names that stay unique in generated clients', () => {
    const names = Object.keys(document.components.schemas)
    const issues: string[] = []
    for (const name of names) {
      // In Go, the constructor of X is NewX.
      if (names.includes(`New${name}`)) issues.push(`New${name} is also the constructor of ${name}`)
      for (const [property, { type }] of Object.entries<Loose>(resolve({ $ref: name }).properties ?? {})) {
        const inline = name + property.replaceAll(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase())
        if (type === 'object' && names.includes(inline)) issues.push(`${inline} is also a type of ${name}`)
      }
    }
    expect(issues).to.deep.equal([])
  })

  const INFERENCE_IDS =
    /Completion|Embeddings|Moderation|Message|^(route|simulate|(create|compact)Response|countInputTokens)$/

  it('has open responses, and closed bodies except those of inference requests', () => {
    const closed: string[] = []
    for (const { operation } of operationsOf(document)) {
      for (const { content = {} } of Object.values<Loose>(operation.responses))
        for (const { schema } of Object.values<Loose>(content))
          for (const [path, part] of schemasOf(resolve(schema), operation.operationId))
            if (part.additionalProperties === false) closed.push(path)
      const body = resolve(operation.requestBody?.content['application/json'].schema ?? { $ref: '' })
      const isInference = INFERENCE_IDS.test(operation.operationId)
      if (body?.type === 'object' && !isInference)
        expect(body.additionalProperties, operation.operationId).to.equal(false)
    }
    expect(closed).to.deep.equal([])
  })

  it('lists the codes and the header of every error', () => {
    const codes: readonly string[] = document.components.schemas.ErrorCode.enum
    for (const { operation } of operationsOf(document)) {
      for (const [status, response] of Object.entries<Loose>(operation.responses)) {
        expect(response.headers).to.have.property('x-request-id')
        if (Number(status) < 400 || operation.operationId === 'checkReadiness') continue
        expect(response.headers).to.have.property('x-error-code')
        const examples = Object.keys(response.content['application/json'].examples)
        expect(codes, `${operation.operationId} ${status}`).to.include.members(examples)
      }
      if (operation.operationId !== 'checkReadiness')
        expect(Object.keys(operation.responses)).to.include.members(['400', '405', '417', '431', '500'])
      if (operation.requestBody) expect(Object.keys(operation.responses)).to.include.members(['413', '415'])
    }
  })

  it('describes exactly the routes that are served', async () => {
    const served = new Set<string>()
    // Imported like the gateway does: `require` would load another copy of the class.
    const { prototype } = (await import('@koa/router')).default
    const { register } = prototype
    prototype.register = function (this: Router, ...given: Loose) {
      const [place, methods] = given
      for (const method of methods)
        served.add(`${method.toUpperCase()} ${String(place).replaceAll(/:(\w+)/g, '{$1}')}`)
      return Reflect.apply(register, this, given)
    }
    try {
      const started = await startDocumentedGateway()
      // Each listener creates its router after the start, or for the first request that needs it.
      for (const url of [started.url, started.routeUrl]) await fetch(`${url}/healthz`)
      await started.stop()
    } finally {
      prototype.register = register
    }
    const described = operationsOf(document).map(({ method, path }) => `${method} ${path}`)
    // Pages for browsers, a WebSocket, and what OAuth describes.
    const pages = ['', 'console', 'console/', 'console/assets/{file}', 'console/device']
    const unlisted = [...pages.map((page) => `/${page}`), '/v1/responses']
    const oauth = [
      'GET /.well-known/oauth-authorization-server',
      'GET /oauth/userinfo',
      'POST /console/device',
    ]
    const forms = ['device_authorization', 'revoke', 'token'].map((name) => `POST /oauth/${name}`)
    const others = [...unlisted.map((path) => `GET ${path}`), ...oauth, ...forms]
    expect([...served].sort()).to.deep.equal([...described, ...others].sort())
  })

  it('has examples that are valid and get responses that match their schemas', async function () {
    // Hundreds of requests.
    this.timeout(180_000)
    // What they create stays: a second attempt would find names twice.
    this.retries(0)
    const { judge, judgeBody } = judging
    const { fill, own, send } = await createSender(gateway)
    const faults: string[] = []
    const note = (what: string, described: Described, answer: Answer) => {
      const fault =
        answer.status < 400 ? judge(described, answer) : `${answer.status} ${JSON.stringify(answer.body)}`
      if (fault !== undefined) faults.push(`${described.method} ${what}: ${fault}`)
    }
    for (const described of operationsOf(document)) {
      const { parameters, examples, path } = described
      // Succeeds only for a response whose client has disconnected: see responses.test.ts.
      if (path.endsWith('/cancel')) continue
      // Succeed only once a router is trained: see router-training.test.ts.
      if (path.startsWith('/admin/routers/')) continue
      // No tool is called here: see approvals.test.ts and tool-calls.test.ts.
      if (/\/(approvals|tool-calls)\//.test(path)) continue
      // No server lists tools here: see tool-pins.test.ts.
      if (/^\/admin\/tool-servers\/.*\/(tools\/|refresh)/.test(path)) continue
      // Have a protocol of their own: see mcp.test.ts.
      if (path.startsWith('/mcp')) continue
      const required = parameters.filter((parameter) => parameter.in === 'query' && parameter.required)
      const query = (more: readonly Loose[]) => {
        const pairs = [...required, ...more].map(({ name, example }): [string, string] => [
          name,
          // What the test creates is younger than the moment in the example, and than this millisecond.
          name === 'as_of' && /\{id\}|budget/.test(path)
            ? new Date(Date.now() + 1).toISOString()
            : String(example),
        ])
        return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
      }
      const sent = IS_FULL ? examples : examples.slice(0, 1)
      for (const [name, example] of sent.length > 0 ? sent : [['', undefined] as const]) {
        const filled = `${await fill(described)}${query([])}`
        const body = example && (await own(example, filled))
        note(`${filled} ${name}`, described, await send(described, filled, body))
        if (body === undefined) continue
        const fault = judgeBody(described, body)
        if (fault !== undefined) faults.push(`${path} ${name}: ${fault}`)
      }
      for (const parameter of IS_FULL ? parameters : []) {
        if (parameter.required || !['query', 'header'].includes(parameter.in)) continue
        const inQuery = parameter.in === 'query'
        const filledPath = await fill(described)
        // The example of another response's item.
        if (parameter.name === 'after') parameter.example = firstItemOf(filledPath)
        // Ends a range that must have a beginning.
        const isEnd = path === '/admin/overview' && parameter.name === 'until'
        const beginning = isEnd ? parameters.filter(({ name }) => name === 'since') : []
        const filled = `${filledPath}${query(inQuery ? [...beginning, parameter] : [])}`
        const body = examples[0] && (await own(examples[0][1], filled))
        // A key can be used for one request only.
        if (parameter.name === 'idempotency-key') parameter.example = filledPath
        const headers = inQuery ? {} : { [parameter.name]: parameter.example }
        note(`${filled} ${parameter.name}`, described, await send(described, filled, body, headers))
      }
    }
    expect(faults).to.deep.equal([])
  })

  it('describes the errors for a missing key, an unknown id, an invalid body and the free plan', async () => {
    const { judge } = judging
    const { fill, send } = await createSender(gateway)
    const free = await createSender(gateway, 'free')
    const faults: string[] = []
    const note = (status: number, described: Described, answer: Answer) => {
      const fault = answer.status === status ? judge(described, answer) : `${answer.status} is not ${status}`
      if (fault !== undefined) faults.push(`${described.method} ${described.path}: ${fault}`)
    }
    for (const described of sample(operationsOf(document), 100)) {
      const { operation, path, method } = described
      const unknown = path.replace(/\{\w+\}/g, '987654')
      const example = described.examples[0]?.[1]
      if (operation.security.length === 0) continue
      note(401, described, await send(described, unknown, example, { authorization: 'Bearer nobody' }))
      const query = new URLSearchParams()
      for (const parameter of described.parameters)
        if (parameter.in === 'query' && parameter.required) query.set(parameter.name, parameter.example)
      if (path.includes('{')) note(404, described, await send(described, `${unknown}?${query}`, example))
      if (example) note(400, described, await send(described, await fill(described), []))
      if (/^\/v1\/(routing-rules|firewall-rules|tool-rules|rules\/(?!effective))/.test(path))
        note(403, described, await free.send(described, unknown, method === 'GET' ? undefined : example))
    }
    expect(faults).to.deep.equal([])
  })

  it('describes the errors for invalid rules, stale revisions and blocked requests', async () => {
    const { judge } = judging
    const { fill, send } = await createSender(gateway)
    const find = (id: string) => {
      const found = operationsOf(document).find(({ operation }) => operation.operationId === id)
      if (found === undefined) throw new Error(`there is no operation ${id}`)
      return found
    }
    const expectError = async (id: string, status: number, body: unknown, headers = {}) => {
      const described = find(id)
      const answer = await send(described, await fill(described), body, headers)
      expect(answer.status, id).to.equal(status)
      expect(judge(described, answer)).to.equal(undefined)
    }
    await expectError('createRoutingRule', 422, { ...NEW_RULES.routing, priority: 5000 })
    await expectError('createFirewallRule', 400, { ...NEW_RULES.firewall, priority: 5000 })
    await expectError('updateRoutingRule', 412, { priority: 1 }, { 'if-match': '"9"' })
    await expectError('deleteFirewallRule', 412, undefined, { 'if-match': '"9"' })
    const block = { ...NEW_RULES.firewall, pattern: 'railway', action: 'block' }
    await send(find('createFirewallRule'), '/v1/firewall-rules', block)
    for (const id of ['createChatCompletion', 'createResponse', 'route'])
      await expectError(id, 403, find(id).examples[0]?.[1])
  })

  it('shows the conditions, actions and endpoints of plugin packages', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'night.mjs'), NIGHT)
    const { plugins } = readSettings({})
    const names = plugins.map((entry) => (typeof entry === 'string' ? entry : entry.use))
    const CONFIG = await writeSettings(
      JSON.stringify({ plugins: [...names, path.join(folder, 'night.mjs')] }),
    )
    const other = await startGateway({ CONFIG })
    const { paths, components } = (await other.call('GET', '/openapi.json')).body
    const { match_json, action_json } = components.schemas.RoutingRuleInput.properties
    expect(match_json.anyOf[0].properties.shout).to.deep.equal({
      description: 'true or false',
      type: 'boolean',
    })
    expect(action_json.anyOf[0].properties.echo).to.deep.equal({ description: 'a text', type: 'string' })
    expect(paths['/v1/night'].get.summary).to.equal('Says whether it is night.')
    await other.stop()
  })

  it('lists the error codes of all plugins, which docs/api.md shows with their types', async () => {
    const table = await writeErrorTable()
    expect(table).to.contain('| `guardrail_blocked` | 403 | `firewall_error` |')
    expect(readGenerated('docs/api.md', 'errors')).to.equal(table)
  })

  it('omits what is not served', async () => {
    const other = await startGateway({ ADMIN_KEY: '' })
    const { paths } = (await other.call('GET', '/openapi.json')).body
    expect(paths).not.to.have.any.keys('/admin/users', '/metrics')
    expect(paths).to.include.keys('/v1/chat/completions', '/route')
    await other.stop()
  })
})

/** The schemas below a value, with their paths. References are not followed. */
function schemasOf(value: Loose, path: string): readonly (readonly [string, Loose])[] {
  if (typeof value !== 'object' || value === null || path.endsWith('.examples')) return []
  const nested = Object.entries(value).flatMap(([key, inner]) => schemasOf(inner, `${path}.${key}`))
  return Array.isArray(value) ? nested : [[path, value], ...nested]
}

const NIGHT = `export default {
  name: 'night',
  contract: 3,
  setup: () => ({
    conditions: [{ name: 'shout', schema: { type: 'boolean' }, description: 'true or false', matcher: () => () => true }],
    actions: [{ name: 'echo', schema: { type: 'string' }, description: 'a text', combine: 'all', apply() {} }],
    endpoints: [{
      method: 'GET', path: '/v1/night', access: { type: 'user' }, operationId: 'readNight', tags: ['night'],
      summary: 'Says whether it is night.', responses: { 200: { description: 'Night or day.' } },
      handle: () => ({ status: 200, body: { night: true } }),
    }],
  }),
}`

/** Returns the id of the first input item of the response in a path. */
function firstItemOf(path: string): string {
  return `msg_${/resp_(\w+)/.exec(path)?.[1]}i00`
}
