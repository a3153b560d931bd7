import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { type EchoingProvider, MISDEEDS, startEchoingProvider } from '../support/echoing-provider.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { type GatewayProcess, runSignalbox, startGatewayProcess } from '../support/gateway-process.ts'
import { findLeaks, type Place, place, readPlaces } from '../support/leaks.ts'
import { providersAt } from '../support/providers.ts'
import { openSocket, readToEnd, sendRaw } from '../support/raw-http.ts'
import { type RunningRedis, startRedis } from '../support/redis.ts'
import { IS_FULL } from '../support/rounds.ts'
import { withSettings } from '../support/settings.ts'
import { disconnectInMidStream, receivedText } from '../support/streams.ts'

const SECRETS = {
  adminKey: 'admin-7Jq2mZkP0vXc4Rt9Lw',
  redisPassword: 'redis-5Tn8bGhY1sDf6Qx3Ke',
  eventStorePassword: 'events-9Vr4cMjU7wEa2Zp0Hd',
  openaiKey: 'openai-3Wk6yBnR8tFg1Xs5Lq',
  anthropicKey: 'anthropic-0Pz7dCvT4mHj9Qe2Rb',
  geminiKey: 'gemini-6Xf1gKwS3nLu8Yt5Va',
}

/** Texts that appear nowhere else. */
const PROMPT = 'Seventeen-turquoise-walruses-rehearse-the-overture'
const UNSTORED = 'Eleven-vermilion-hedgehogs-postpone-their-regatta'
const INSTRUCTION = 'Answer-only-as-a-melancholy-lighthouse-keeper-would'

const messages = (more = '') => [
  { role: 'system', content: INSTRUCTION },
  { role: 'user', content: `${PROMPT} ${more}` },
]

const RULE_NAME = 'A rule that is to be found in the events'

const rule = (more: object = {}) => ({
  ...{ name: RULE_NAME, is_enabled: true, scope: 'prompt', type: 'substring' },
  ...{ pattern: 'lobster', action: 'block', priority: 1 },
  ...more,
})

/** The circuit breakers stay closed, so that failing models are called again. */
const SETTINGS = `limits: { auth_failures_per_minute: 5, body_bytes: 100000 }
breaker: { min_requests: 100000, open_ms: 1 }
timeouts: { headers_ms: 1500 }
`

/** The responses, except for the content that clients requested. */
interface Responses {
  readonly places: Place[]
  readonly statuses: Set<number>
}

for (const log of IS_FULL ? ['the embedded log', 'EventStoreDB'] : ['the embedded log']) {
  describe(`keys, passwords and prompts, on ${log}`, () => {
    let sandbox: Sandbox
    let provider: EchoingProvider
    let redis: RunningRedis | undefined
    let events: EventStore | undefined
    let gateway: GatewayProcess
    let secrets: Record<string, string>
    let outside: readonly Place[]
    let stored: readonly Place[]
    const responses: Responses = { places: [], statuses: new Set() }

    before(async () => {
      sandbox = await startSandbox()
      provider = await startEchoingProvider()
      redis = await startRedis(SECRETS.redisPassword)
      events = log === 'EventStoreDB' ? await startEventStore() : undefined
      const dataDir = await createLogFolder()
      const environment: Record<string, string> = {
        ...providersAt(sandbox, ['anthropic', 'gemini', 'mistral']),
        ...(await withSettings(SETTINGS)),
        OPENAI_API_KEY: SECRETS.openaiKey,
        OPENAI_BASE_URL: provider.url,
        ANTHROPIC_API_KEY: SECRETS.anthropicKey,
        GEMINI_API_KEY: SECRETS.geminiKey,
        ADMIN_KEY: SECRETS.adminKey,
        LOG_LEVEL: 'trace',
        ...(redis && { REDIS_URL: redis.url }),
        ...(events && {
          EVENTSTORE_URL: `esdb://admin:${SECRETS.eventStorePassword}@127.0.0.1:${events.port}?tls=false`,
        }),
      }
      const command = (...args: string[]) => runSignalbox(args, { ...environment, DATA_DIR: dataDir })

      const user = ['users', 'add', '--name', 'Ada', '--plan', 'paid']
      const added = await runCommand(user, { ...environment, DATA_DIR: dataDir })
      const { key } = JSON.parse(added.stdout)
      gateway = await startGatewayProcess(environment, { dataDir, demoKey: key })
      let stdout = ''
      gateway.process.stdout?.on('data', (text) => {
        stdout += text
      })
      const issued = await useEverything(gateway, responses)
      const slow = { model: 'mistral-large-4', messages: messages('[[sandbox:token-delay=50]]') }
      await disconnectInMidStream(gateway, slow)
      if (redis) await redis.kill()
      events?.dropConnections()
      await ask(gateway, responses, 'POST', '/v1/chat/completions', { model: 'gpt-4o', messages: messages() })
      const drained = ask(gateway, responses, 'POST', '/v1/responses', {
        ...{ model: 'mistral-large-4', stream: true },
        input: `${PROMPT} [[sandbox:token-delay=30]]`,
      })
      await gateway.call('GET', '/healthz')
      await gateway.stop()
      await drained

      const commands = [
        await command('log', 'export'),
        await runCommand(['log', 'verify'], { ...environment, DATA_DIR: dataDir }),
        await runCommand(['users', 'list'], { ...environment, DATA_DIR: dataDir }),
      ]
      const [exported] = commands
      expect(commands.map(({ code }) => code)).to.deep.equal([0, 0, 0])
      secrets = {
        ...SECRETS,
        userKey: key,
        issuedKey: issued,
        prompt: PROMPT,
        unstored: UNSTORED,
        instruction: INSTRUCTION,
      }
      outside = [
        place('the log', gateway.stderr()),
        place('stdout', stdout),
        place('the exported events', exported?.stdout ?? ''),
        place('what the commands printed', commands.map(({ stdout, stderr }) => stdout + stderr).join('\n')),
        ...responses.places,
      ]
      stored = await readPlaces(dataDir)
    })
    after(async () => {
      provider.close()
      await sandbox.close()
      await redis?.stop()
      await events?.stop()
    })

    it('were used: the traffic caused every kind of error and log line', () => {
      expect([...responses.statuses]).to.include.members([
        200, 201, 400, 401, 403, 404, 408, 413, 422, 429, 431, 502,
      ])
      const text = (name: string) => outside.find((found) => found.name === name)?.bytes.toString() ?? ''
      expect(text('the log')).to.contain('/v1/chat/completions').and.to.contain('connection rejected')
      expect(text('the log').match(/"level":50/g)?.length ?? 0).to.be.greaterThan(5)
      expect(text('the exported events')).to.contain(RULE_NAME)
      expect(text('GET /metrics 200')).to.contain('signalbox_http_requests_total')
      expect(text('GET /openapi.json 200')).to.contain('createChatCompletion')
    })

    it('are in no log, error, metric, event or output of a command', () => {
      expect(findLeaks(secrets, outside)).to.deep.equal([])
    })

    it('are in no file, except for the texts of stored responses', () => {
      const names = stored.map(({ name }) => name)
      expect(names.some((name) => name.startsWith('snapshots'))).to.equal(true)
      const leaks = findLeaks(secrets, stored)
      const byDesign = ['prompt in ledger.db', 'instruction in ledger.db']
      expect(
        leaks.map((leak) => leak.replace(/-wal$/, '')).filter((leak) => !byDesign.includes(leak)),
      ).to.deep.equal([])
      // The search finds texts that are in files.
      expect(leaks.map((leak) => leak.replace(/-wal$/, ''))).to.include('prompt in ledger.db')
    })

    it('would be found in each form', () => {
      const log = outside[0] ?? expect.fail('nothing was logged')
      for (const [name, text] of Object.entries(secrets)) {
        const forms = [
          text,
          JSON.stringify({ a: [text] }),
          `-${text.slice(2, -2)}-`,
          Buffer.from(`user:${text}`).toString('base64'),
        ]
        for (const form of forms) {
          const planted = { ...log, bytes: Buffer.concat([log.bytes, Buffer.from(form)]) }
          expect(findLeaks(secrets, [planted]), form).to.include(`${name} in the log`)
        }
      }
    })
  })
}

/** Sends a request and records the response: all of an error, only the headers of a success. */
async function ask(
  gateway: GatewayProcess,
  responses: Responses,
  method: string,
  path: string,
  body?: unknown,
  key = gateway.demoKey,
  base = gateway.url,
): Promise<string> {
  const response = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await receivedText(response)
  responses.statuses.add(response.status)
  const isOurs = response.status >= 400 || /^\/(metrics|openapi|healthz|readyz)/.test(path)
  const headers = JSON.stringify([...response.headers])
  responses.places.push(
    place(`${method} ${path} ${response.status}`, headers + (isOurs ? text : errorsIn(text))),
  )
  return text
}

/** The error records of a stream. */
function errorsIn(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.includes('"error"') && !line.includes('"error":null'))
    .join('\n')
}

/** Sends requests of every kind. Returns a key issued meanwhile. */
async function useEverything(gateway: GatewayProcess, responses: Responses): Promise<string> {
  const call = (method: string, path: string, body?: unknown, key?: string) =>
    ask(gateway, responses, method, path, body, key)
  const chat = (model: string, more: string, rest: object = {}) =>
    call('POST', '/v1/chat/completions', { model, messages: messages(more), user: PROMPT, ...rest })
  const admin = (method: string, path: string, body?: unknown) => call(method, path, body, SECRETS.adminKey)

  // Providers: working, failing, and quoting keys and prompts in their responses.
  for (const model of ['gpt-4o', 'claude-sonnet-4-6', 'gemini-3.5-flash', 'mistral-large-4', 'auto:cost']) {
    await chat(model, '')
    await chat(model, '', { stream: true })
  }
  const streamed = [false, true]
  await Promise.all(
    MISDEEDS.flatMap((misdeed) => streamed.map((stream) => chat('gpt-4o', `[[${misdeed}]]`, { stream }))),
  )
  const failing = [
    'status=401',
    'status=429',
    'status=500',
    'malformed',
    'cut',
    'eof',
    'error-first',
    'error-mid',
  ].flatMap((fault) =>
    ['claude-sonnet-4-6', 'gemini-3.5-flash', 'mistral-large-4'].flatMap((model) =>
      streamed.map((stream) => chat(model, `[[sandbox:${fault}]]`, { stream })),
    ),
  )
  await Promise.all(failing)
  await ask(gateway, responses, 'POST', '/route', { prompt: PROMPT }, undefined, gateway.routeUrl)
  await ask(
    gateway,
    responses,
    'POST',
    '/route',
    { prompt: `${PROMPT} [[500]]`, temperature: 9 },
    undefined,
    gateway.routeUrl,
  )

  // Rules: changed, blocking, invalid.
  const made = JSON.parse(await call('POST', '/v1/firewall-rules', rule()))
  await call('PATCH', `/v1/firewall-rules/${made.data.id}`, { pattern: 'walruses', priority: 5 })
  await chat('mistral-large-4', '')
  await call('POST', '/v1/responses', { input: PROMPT })
  await call('PATCH', `/v1/firewall-rules/${made.data.id}`, {
    pattern: '(walrus)+(?=es)',
    type: 'regex',
    action: 'warn',
  })
  await chat('mistral-large-4', '')
  await call('POST', '/v1/firewall-rules', rule({ priority: 'high' }))
  await call('POST', '/v1/routing-rules', {
    name: 'no',
    is_enabled: true,
    priority: 5000,
    match_json: {},
    action_json: {},
  })
  await call('POST', '/v1/rules/batch', {
    operations: [{ kind: 'firewall', op: 'create', data: rule({ pattern: 'crayfish' }) }],
  })
  await call('POST', '/v1/simulate', { model: 'gpt-4o', messages: messages() })
  await call('GET', '/v1/audit')
  await call('DELETE', `/v1/firewall-rules/${made.data.id}`)

  // Responses: stored, not stored, replayed, and not found.
  const first = JSON.parse(
    await call('POST', '/v1/responses', {
      model: 'mistral-large-4',
      input: PROMPT,
      instructions: INSTRUCTION,
    }),
  )
  await call('POST', `/v1/responses/${first.id}`)
  await call('POST', `/v1/responses/${first.id}`, { stream: true })
  await call('POST', '/v1/responses', {
    model: 'mistral-large-4',
    input: 'And then?',
    previous_response_id: first.id,
  })
  await call('POST', '/v1/responses', { model: 'mistral-large-4', input: UNSTORED, store: false })
  await call('POST', '/v1/responses', { model: 'gpt-4o', input: `${UNSTORED} [[500]]` })
  await call('POST', '/v1/responses', { model: 'gpt-4o', input: `${UNSTORED} [[mid]]`, stream: true })
  await call('GET', '/v1/responses/resp_000000000000000000000000')

  // Invalid bodies and requests.
  await call('POST', '/v1/chat/completions', `{"messages": "${PROMPT}`)
  await call('POST', '/v1/chat/completions', `"${PROMPT}"`)
  await call('POST', '/v1/chat/completions', { messages: PROMPT.repeat(3000) })
  await call('POST', '/v1/chat/completions', {
    model: 'gpt-4o',
    messages: [{ role: 'walrus', content: PROMPT }],
  })
  await call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages: messages(), n: 9 })
  await call('POST', '/v1/chat/completions', { model: 'none-such', messages: messages() })
  await sendOddly(gateway, responses)

  // Keys: valid, invalid, misplaced and revoked.
  const { data: user } = JSON.parse(await admin('POST', '/admin/users', { name: 'Bob', plan: 'free' }))
  const { data: issued } = JSON.parse(await admin('POST', `/admin/users/${user.id}/keys`))
  await call('GET', '/v1/models', undefined, issued.key)
  await call('GET', '/v1/firewall-rules', undefined, issued.key)
  await admin('DELETE', `/admin/keys/${issued.key}`)
  await call('GET', `/v1/models/${issued.key}?key=${issued.key}`)
  await admin('DELETE', `/admin/keys/${issued.id}`)
  await admin('PATCH', `/admin/users/${user.id}`, { plan: 'gold' })
  for (const key of [SECRETS.adminKey, SECRETS.openaiKey, issued.key])
    await call('GET', '/v1/models', undefined, key)
  await call('GET', '/admin/users', undefined, gateway.demoKey)
  for (let times = 0; times < 6; times++) await call('GET', '/v1/models', undefined, `${gateway.demoKey}x`)

  for (const path of ['/metrics', '/admin/users', '/admin/keys', '/admin/settings', '/admin/access-review'])
    await admin('GET', path)
  for (const path of ['/openapi.json', '/readyz', '/no/such/path', '/v1/models']) await call('GET', path)
  return issued.key
}

/** Sends requests that no HTTP client sends: ambiguous, too large, incomplete. */
async function sendOddly(gateway: GatewayProcess, responses: Responses): Promise<void> {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${gateway.demoKey}\r\n`
  const json = JSON.stringify({ messages: messages() })
  const sent = [
    `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\n${json}`,
    `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${json}`,
    `${head}X-Text: ${PROMPT}\nX: y\r\n\r\n`,
    `${head}X-Text: ${PROMPT.repeat(500)}\r\n\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\n${json}`,
    `GET /${PROMPT} ${gateway.demoKey}\r\n\r\n`,
    `${head}X-Text: ${PROMPT}`,
  ]
  for (const bytes of sent) {
    const answer = await sendRaw(gateway.url, bytes)
    responses.places.push(place('a refused request', answer))
    responses.statuses.add(Number(answer.split(' ')[1]))
  }
  const leaving = await openSocket(gateway.url)
  leaving.write(`${head}Content-Type: application/json\r\nContent-Length: 9000\r\n\r\n${json}`)
  leaving.end()
  responses.places.push(place('a broken off request', await readToEnd(leaving)))
}
