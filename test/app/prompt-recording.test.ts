import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { expect } from 'chai'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { findLeaks, place, readPlaces } from '../support/leaks.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { withSettings } from '../support/settings.ts'

const PROMPT = 'Nineteen-cobalt-pelicans-renovate-the-lighthouse'
const SECRET = 'walrus-4711-0815'

const newKey = () => randomBytes(32).toString('base64')

const settings = (mode: string, more = '') => withSettings(`ledger: { record_prompts: ${mode}${more} }\n`)

const start = async (mode: string, key: string, dataDir?: string, more = '') =>
  startGatewayOnFiles(
    { ...(await settings(mode, more)), RECORD_KEY: key },
    dataDir === undefined ? {} : { dataDir },
  )

const chat = (content: unknown, more = {}) => ({
  model: 'gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})

const ask = (user: TestUser, content: unknown, more = {}) =>
  user.call('POST', '/v1/chat/completions', chat(content, more))

async function readPrompt(gateway: RunningGateway, answer: { headers: Headers }) {
  const id = answer.headers.get('x-request-id')
  return gateway.call('GET', `/admin/requests/${id}/prompt`, undefined, AS_ADMIN)
}

const recorded = async (gateway: RunningGateway, answer: { headers: Headers }) => {
  const { status, body } = await readPrompt(gateway, answer)
  expect(status, JSON.stringify(body)).to.equal(200)
  return body.data
}

/** A user whose rules mask one word and block another. */
async function userWithRules(gateway: RunningGateway): Promise<TestUser> {
  const user = await newUser(gateway)
  const mask = { name: 'M', pattern: SECRET, action: 'mask', replacement: '[masked]', priority: 1 }
  const block = { name: 'B', pattern: 'forbidden', action: 'block', priority: 9 }
  for (const rule of [mask, block]) {
    const { status, body } = await user.call('POST', '/v1/firewall-rules', firewallRuleBody(rule))
    expect(status, JSON.stringify(body)).to.equal(201)
  }
  return user
}

describe('recorded prompts', () => {
  describe('as the firewall left them', () => {
    let gateway: RunningGateway
    let user: TestUser

    before(async () => {
      gateway = await start('masked', newKey())
      user = await userWithRules(gateway)
    })

    after(() => gateway.stop())

    it('can be read by operators, with all that a decision depends on', async () => {
      const answer = await ask(user, `${PROMPT} ${SECRET}`, { temperature: 0.5 })
      expect(await recorded(gateway, answer)).to.deep.equal({
        x_request_id: answer.headers.get('x-request-id'),
        user_id: user.id,
        recorded: 'masked',
        omission: null,
        request: chat(`${PROMPT} [masked]`, { temperature: 0.5 }),
        preferences: [],
        defaulted: [],
        left_out: [],
        headers: {},
        reply: null,
      })
      const routed = await user.route({ prompt: PROMPT, model_preferences: ['gpt-4o-mini'] })
      const { request, defaulted, preferences } = await recorded(gateway, routed)
      expect(request.messages.at(-1)).to.deep.equal({ role: 'user', content: PROMPT })
      expect([...defaulted, ...preferences]).to.include.members(['temperature', 'gpt-4o-mini'])
    })

    it('have no text of a request that was refused before it was masked', async () => {
      const answer = await ask(user, `forbidden ${SECRET}`)
      expect(answer.status).to.equal(403)
      expect(await recorded(gateway, answer)).to.include({ omission: 'refused', request: null })
      const unknown = await ask(user, PROMPT, { model: 'no-such-model' })
      expect(unknown.status).to.equal(404)
      expect(await recorded(gateway, unknown)).to.include({ omission: 'refused', request: null })
    })

    it('have no metadata that the firewall did not inspect, and no media', async () => {
      const image = `data:image/png;base64,${randomBytes(600).toString('base64')}`
      const parts = (url: string) => [
        { type: 'text', text: PROMPT },
        { type: 'image_url', image_url: { url } },
      ]
      const answer = await ask(user, parts(image), { metadata: { ticket: SECRET } })
      expect(answer.status).to.equal(200)
      const { request, left_out } = await recorded(gateway, answer)
      expect(left_out).to.deep.equal(['media', 'metadata'])
      expect(request).to.deep.equal(chat(parts('')))
    })

    it('have the texts that were embedded, and no token ids', async () => {
      const embed = (caller: TestUser, input: unknown) =>
        caller.call('POST', '/v1/embeddings', { model: 'text-embedding-3-small', input })
      const texts = await recorded(gateway, await embed(user, [PROMPT, `${PROMPT} ${SECRET}`]))
      expect(texts.request.messages.map(({ content }: { content: string }) => content)).to.deep.equal([
        PROMPT,
        `${PROMPT} [masked]`,
      ])
      const tokens = await recorded(gateway, await embed(await newUser(gateway), [[11, 12]]))
      expect(tokens.left_out).to.deep.equal(['media'])
      expect(tokens.request.messages[0].content).to.deep.equal([{ type: 'token_ids', token_ids: '' }])
    })

    it('are read by operators only with an entry in the audit trail', async () => {
      const answer = await ask(user, PROMPT)
      expect((await readPrompt(gateway, answer)).status).to.equal(200)
      const { body } = await gateway.call(
        'GET',
        `/admin/audit?kind=access&user=${user.id}`,
        undefined,
        AS_ADMIN,
      )
      const [{ actor, event, user_id, data }] = body.data
      expect([actor.type, event, user_id]).to.deep.equal(['root', 'read', user.id])
      expect(data.path).to.equal(`/admin/requests/${answer.headers.get('x-request-id')}/prompt`)
      expect(JSON.stringify(body)).not.to.contain(PROMPT)
    })

    it('are not there for requests that could not be parsed, and for callers', async () => {
      const invalid = await user.call('POST', '/v1/chat/completions', { messages: 7 })
      expect((await readPrompt(gateway, invalid)).status).to.equal(404)
      const answer = await ask(user, PROMPT)
      const id = answer.headers.get('x-request-id')
      expect((await user.call('GET', `/v1/requests/${id}/prompt`)).status).to.equal(404)
      expect((await user.call('GET', `/admin/requests/${id}/prompt`)).status).to.equal(401)
    })
  })

  it('can be as they were received, also of refused requests', async () => {
    const gateway = await start('full', newKey(), undefined, ', max_prompt_chars: 2000')
    const user = await userWithRules(gateway)
    const body = chat(`forbidden ${SECRET}`, { metadata: { task: 'x' } })
    const blocked = await user.call('POST', '/v1/chat/completions', body)
    expect(blocked.status).to.equal(403)
    expect((await recorded(gateway, blocked)).request).to.deep.equal(body)
    const masked = await ask(user, SECRET)
    expect((await recorded(gateway, masked)).request).to.deep.equal(chat(SECRET))
    const long = await ask(user, 'x '.repeat(1000))
    expect(await recorded(gateway, long)).to.include({ omission: 'too_long', request: null })
    await gateway.stop()
  })

  it('are nowhere in plain text, and nowhere at all once they were deleted', async () => {
    const gateway = await start('full', newKey())
    const [user, other] = [await newUser(gateway), await newUser(gateway)]
    const answers = await Promise.all([1, 2, 3].map((n) => ask(user, `${PROMPT} ${n}`)))
    const kept = await ask(other, 'hello')
    for (const answer of [...answers, kept]) await recorded(gateway, answer)
    const file = path.join(gateway.dataDir, 'ledger.db')
    const rows = withLedger(file, (ledger) => ledger.prepare('select user_id, data from prompts').all())
    expect(rows).to.have.length(4)
    const secrets = { prompt: PROMPT }
    expect(findLeaks(secrets, await readPlaces(gateway.dataDir))).to.deep.equal([])
    expect(findLeaks(secrets, [place('log', gateway.stderr())])).to.deep.equal([])

    const deletion = await gateway.call('DELETE', `/admin/users/${user.id}/prompts`, undefined, AS_ADMIN)
    expect(deletion.body).to.deep.equal({ data: { user_id: user.id, deleted: 3 } })
    expect((await readPrompt(gateway, answers[0]!)).status).to.equal(404)
    expect((await recorded(gateway, kept)).request.messages[0].content).to.equal('hello')
    const places = await readPlaces(gateway.dataDir)
    for (const { user_id, data } of rows as { user_id: number; data: Buffer }[]) {
      const holders = places.filter(({ bytes }) => bytes.includes(data.subarray(30, 60)))
      expect(holders.length > 0, `user ${user_id}`).to.equal(user_id === other.id)
    }
    const audit = await gateway.call('GET', `/admin/audit?kind=access&user=${user.id}`, undefined, AS_ADMIN)
    expect(audit.body.data[0]).to.deep.include({
      event: 'prompts_deleted',
      data: { userId: user.id, prompts: 3 },
    })
    await gateway.stop()
  })

  it('are deleted with their user', async () => {
    const gateway = await start('full', newKey())
    const [user, other] = [await newUser(gateway), await newUser(gateway)]
    const [deleted, kept] = [await ask(user, PROMPT), await ask(other, PROMPT)]
    await recorded(gateway, deleted)
    await gateway.call('DELETE', `/admin/users/${user.id}`, undefined, AS_ADMIN)
    await gateway.wrote('recorded prompts and feedback of a deleted user deleted')
    expect((await readPrompt(gateway, deleted)).status).to.equal(404)
    expect((await recorded(gateway, kept)).user_id).to.equal(other.id)
    await gateway.stop()
  })

  it('are readable with rotated keys, and never garbage with the wrong one', async () => {
    const dataDir = await makeFolder()
    const [first, second] = [newKey(), newKey()]
    let gateway = await start('full', first, dataDir)
    const old = await ask(await newUser(gateway), 'the old one')
    await recorded(gateway, old)
    await gateway.stop()

    gateway = await start('full', `k2:${second},k1:${first}`, dataDir)
    const user = await newUser(gateway)
    const younger = await ask(user, 'the younger one')
    expect((await recorded(gateway, old)).request.messages[0].content).to.equal('the old one')
    expect((await recorded(gateway, younger)).request.messages[0].content).to.equal('the younger one')
    await gateway.stop()

    gateway = await start('off', `k2:${newKey()}`, dataDir)
    const [missing, wrong] = [await readPrompt(gateway, old), await readPrompt(gateway, younger)]
    for (const { status, headers } of [missing, wrong]) {
      expect(status).to.equal(500)
      expect(headers.get('x-error-code')).to.equal('prompt_unreadable')
    }
    expect(missing.body.error.message).to.match(/RECORD_KEY does not have the key "sha256-/)
    expect(wrong.body.error.message).to.contain('the key "k2" is another one by now')
    expect((await ask(await newUser(gateway), 'x')).status).to.equal(200)
    await gateway.stop()
  })

  it('cannot be passed off as those of another user', async () => {
    const gateway = await start('full', newKey())
    const [one, other] = [await newUser(gateway), await newUser(gateway)]
    const answer = await ask(one, PROMPT)
    await recorded(gateway, answer)
    withLedger(path.join(gateway.dataDir, 'ledger.db'), (ledger) =>
      ledger.prepare('update prompts set user_id = ?').run(other.id),
    )
    expect((await readPrompt(gateway, answer)).headers.get('x-error-code')).to.equal('prompt_unreadable')
    await gateway.stop()
  })

  it('need a key of 32 bytes, and the firewall before the ledger', async () => {
    const refusal = (environment: Record<string, string>) =>
      startGatewayOnFiles(environment).then(
        () => 'it started',
        (error: Error) => error.message,
      )
    const masked = await settings('masked')
    expect(await refusal(masked)).to.contain(
      'record_prompts: masked requires RECORD_KEY; make one with "openssl rand -base64 32"',
    )
    const short = randomBytes(16).toString('base64')
    const message = await refusal({ ...masked, RECORD_KEY: short })
    expect(message).to.contain('RECORD_KEY must be 32 bytes').and.to.contain('openssl rand -base64 32')
    expect(message).not.to.contain(short)
    const key = newKey()
    expect(await refusal({ ...masked, RECORD_KEY: `a:${key},a:${newKey()}` })).to.contain('same key id')
    const withoutFirewall = await withSettings(
      'plugins: [auth, ledger, dispatch]\nledger: { record_prompts: masked }\n',
    )
    expect(await refusal({ ...withoutFirewall, RECORD_KEY: key })).to.match(/ledger.*firewall/)
  })
})

function withLedger<Result>(file: string, use: (ledger: SqliteDatabase) => Result): Result {
  const ledger = new SqliteDatabase(file)
  try {
    return use(ledger)
  } finally {
    ledger.close()
  }
}
