import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import { requestIdAt } from '../../core/util/ids.ts'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { routingRuleBody } from '../support/bodies.ts'
import { budgetOf, setBudget } from '../support/budgets.ts'
import { startCachingGateway } from '../support/cache.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'

describe('feedback', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    sandbox = await startSandbox()
    gateway = await startCachingGateway(sandbox)
  })

  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  beforeEach(async () => {
    user = await newUser(gateway)
  })

  const messages = [{ role: 'user' as const, content: 'hello' }]
  const chat = { model: 'gpt-4o', messages }

  async function ask(caller = user, more = {}): Promise<string> {
    const { status, headers } = await caller.call('POST', '/v1/chat/completions', { ...chat, ...more })
    expect(status).to.equal(200)
    return headers.get('x-request-id') ?? ''
  }

  const give = (request_id: string, more: object, caller = user) =>
    caller.call('POST', '/v1/feedback', { request_id, ...more })

  const recordOf = async (id: string, caller = user) =>
    (await caller.call('GET', `/v1/requests/${id}`)).body.data

  it('is given by any HTTP client, replaced, and shown with the request and in usage', async () => {
    const id = await ask()
    const first = await give(id, { score: 0.25, comment: 'Wrong.' })
    expect(first.status, JSON.stringify(first.body)).to.equal(201)
    expect(first.body.data).to.include({
      x_request_id: id,
      user_id: user.id,
      name: 'quality',
      score: 0.25,
      comment: 'Wrong.',
      given_by: user.keyId,
    })
    const second = await give(id, { value: true })
    expect(second.body.data).to.include({ score: 1, comment: null })
    await give(id, { name: 'tone', value: false })
    const record = await recordOf(id)
    expect(
      record.feedback.map(({ name, score }: { name: string; score: number }) => [name, score]),
    ).to.deep.equal([
      ['quality', 1],
      ['tone', 0],
    ])
    await give(await ask(), { score: 0.5 })
    const usage = await user.call('GET', '/v1/usage?group_by=model')
    expect(usage.body.data).to.have.length(1)
    expect(usage.body.data[0]).to.deep.include({ requests: 2, ratings: 2, mean_score: 0.75 })
    const unrated = await (await newUser(gateway)).call('GET', '/v1/usage')
    expect(unrated.body.data).to.deep.equal([])
  })

  it('is given by the id that each SDK shows, for whole replies, streams, cached and stored ones', async () => {
    const openai = gateway.openai(user.key)
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: user.key, maxRetries: 0 })
    const completion = await openai.chat.completions.create(chat)
    const chunks: string[] = []
    for await (const { id } of await openai.chat.completions.create({ ...chat, stream: true }))
      chunks.push(id)
    const response = await openai.responses.create({ model: 'gpt-4o', input: 'hello', store: true })
    const replayed = await openai.responses.retrieve(response.id)
    const message = await anthropic.messages.create({ model: 'gpt-4o', max_tokens: 100, messages })
    const legacy = await openai.completions.create({ model: 'gpt-4o', prompt: 'hello' })
    const cached = await openai.chat.completions.create({ ...chat, temperature: 0 })
    const hit = await openai.chat.completions.create({ ...chat, temperature: 0 })
    const { response: raw } = await openai.embeddings
      .create({ model: 'text-embedding-3-small', input: 'hello' })
      .withResponse()
    const ids = [completion.id, chunks[0], replayed.id, message.id, legacy.id, cached.id, hit.id]
    for (const request_id of [...ids, completion._request_id, raw.headers.get('x-request-id')]) {
      const body = { request_id, value: true }
      const answer = await openai.post<{ data: { x_request_id: string } }>('/feedback', { body })
      expect(request_id).to.match(new RegExp(`${answer.data.x_request_id.slice('req_'.length)}$`))
    }
    const usage = await user.call('GET', '/v1/usage')
    expect(usage.body.data[0]).to.include({ requests: 8, ratings: 8, mean_score: 1, cache_hits: 1 })
  })

  it('is refused for requests of others and unknown ones alike', async () => {
    const id = await ask(await newUser(gateway))
    const answers = await Promise.all(
      [id, `chatcmpl-${id.slice(4)}`, requestIdAt(Date.now()), 'nonsense'].map((unknown) =>
        give(unknown, { value: true }),
      ),
    )
    for (const { status, body } of answers) {
      expect(status, JSON.stringify(body)).to.equal(404)
      expect(body.error.message).to.match(/^Request \S+ was not found or is no longer recorded\./)
    }
  })

  it('names what is wrong with a body', async () => {
    const id = await ask()
    for (const [body, param] of [
      [{ score: 1.5 }, 'score'],
      [{ score: -0.1 }, 'score'],
      [{ score: '1' }, 'score'],
      [{ value: 1 }, 'value'],
      [{}, 'score'],
      [{ score: 1, value: true }, 'value'],
      [{ score: 1, name: 'Quality!' }, 'name'],
      [{ score: 1, comment: 'x'.repeat(2001) }, 'comment'],
    ] as const) {
      const answer = await give(id, body)
      expect(answer.status, JSON.stringify(body)).to.equal(400)
      expect(answer.body.error.param, JSON.stringify(answer.body)).to.equal(param)
    }
    const unknown = await give(id, { score: 1, rating: 5 })
    expect(unknown.body.error.message).to.equal('Unknown field "rating".')
    expect((await recordOf(id)).feedback).to.deep.equal([])
  })

  it('leaves counts and budgets as they are', async () => {
    const set = await setBudget(gateway, budgetOf.user(user.id), { limit_usd: 5 })
    expect(set.status, JSON.stringify(set.body)).to.be.within(200, 201)
    const id = await ask()
    const count = async () => {
      const [usage, budget] = [await user.call('GET', '/v1/usage'), await user.call('GET', '/v1/budget')]
      const { ratings, mean_score, ...rest } = usage.body.data[0]
      return { rest, budget: budget.body.data.user.spent_usd }
    }
    const before = await count()
    await give(id, { score: 0 })
    expect(await count()).to.deep.equal(before)
  })

  it('is given and listed by operators for all, and summed up by rule and group', async () => {
    const editor = await newOperator(gateway, 'editor')
    const auditor = await newOperator(gateway, 'auditor')
    const other = await newUser(gateway)
    const rule = routingRuleBody({ action_json: { set_model: 'gpt-4o-mini' } })
    const created = await user.call('POST', '/v1/routing-rules', rule)
    const [id, otherId] = [await ask(), await ask(other)]
    const given = await editor.call('POST', '/admin/feedback', { request_id: id, score: 0.5 })
    expect(given.status, JSON.stringify(given.body)).to.equal(201)
    expect(given.body.data).to.include({ user_id: user.id, given_by: editor.id })
    const refused = await auditor.call('POST', '/admin/feedback', { request_id: id, score: 0 })
    expect(refused.status).to.equal(403)
    await give(otherId, { value: false, comment: 'no' }, other)

    const list = async (query: string) =>
      (await auditor.call('GET', `/admin/feedback?${query}`)).body as {
        data: { x_request_id: string; comment: string; model: string }[]
        next_cursor: string | null
      }
    const [listed] = (await list(`user=${other.id}&max_score=0.25`)).data
    expect(listed).to.include({ x_request_id: otherId, comment: 'no', model: 'gpt-4o' })
    const page = await list('limit=1')
    const next = await list(`limit=1&cursor=${page.next_cursor}`)
    expect([page, next].map(({ data }) => data[0]?.x_request_id)).to.deep.equal([otherId, id])
    expect((await auditor.call('GET', '/admin/feedback?cursor=xyz')).status).to.equal(400)

    const byRule = await auditor.call('GET', `/admin/usage?group_by=rule&user=${user.id}`)
    expect(byRule.body.data[0]).to.include({
      rule: `routing:${created.body.data.id}`,
      ratings: 1,
      mean_score: 0.5,
    })
    const found = await auditor.call('GET', `/admin/requests?max_score=0.4&user=${other.id}`)
    expect(found.status, JSON.stringify(found.body)).to.equal(200)
    expect(found.body.data.map((record: { x_request_id: string }) => record.x_request_id)).to.deep.equal([
      otherId,
    ])
    expect((await auditor.call('GET', '/admin/requests?min_score=2')).status).to.equal(400)
    const csv = await fetch(`${gateway.url}/admin/requests?format=csv&user=${other.id}`, {
      headers: auditor.headers,
    })
    expect(await csv.text()).to.match(/,score,signals,deployment,session_id\r?\n.*,0,,,\r?\n$/)
  })

  it('is deleted with its user, and its comments are never logged', async () => {
    const id = await ask()
    await give(id, { value: true, comment: 'a comment with a name in it' })
    await gateway.call('DELETE', `/admin/users/${user.id}`, undefined, AS_ADMIN)
    await gateway.wrote('recorded prompts and feedback of a deleted user deleted')
    const listed = await gateway.call('GET', `/admin/feedback?user=${user.id}`, undefined, AS_ADMIN)
    expect(listed.body.data).to.deep.equal([])
    expect(gateway.stderr()).not.to.contain('a comment with')
  })

  describe('imported as JSON lines', () => {
    const rate = (prompt: string, score: unknown, more = {}) =>
      JSON.stringify({ prompt, model: 'gpt-4o', score, ...more })

    async function importLines(body: string | ReadableStream, headers: Record<string, string> = AS_ADMIN) {
      const options = { method: 'POST', headers, body, duplex: 'half' } as const
      const response = await fetch(`${gateway.url}/admin/feedback?format=jsonl`, options)
      const content = (await response.json()) as { data: object }
      return { status: response.status, body: content }
    }

    const deleteAll = () => gateway.call('DELETE', '/admin/feedback/imported', undefined, AS_ADMIN)

    afterEach(deleteAll)

    it('is stored line by line, with an error for each line that is not', async () => {
      const lines = [
        rate('Prove that there are infinitely many primes.', 1, { system: 'You are a mathematician.' }),
        rate('', 1),
        rate('secret words', 1.5),
        'secret nonsense',
        '',
        rate('hello', 1, { model: 'no-such-model' }),
        rate('hello', true, { user: 'x' }),
        rate('hello', false, { model: 'openai/gpt-4o-mini' }),
      ]
      const { status, body } = await importLines(lines.join('\n'))
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body.data).to.deep.equal({
        imported: 2,
        rejected: 5,
        errors: [
          { line: 2, message: 'prompt must be a text that is not empty.' },
          { line: 3, message: 'score must be a number from 0 to 1, or true or false.' },
          { line: 4, message: 'The line is not a JSON object.' },
          { line: 6, message: 'model is not in the catalogue: no-such-model.' },
          { line: 7, message: 'Fields other than prompt, model, score, system are not known.' },
        ],
      })
      expect(gateway.stderr()).not.to.contain('secret')
      expect((await deleteAll()).body.data).to.deep.equal({ deleted: 2 })
      const trail = await gateway.call('GET', '/admin/audit?kind=access&limit=2', undefined, AS_ADMIN)
      expect(trail.body.data[0]).to.deep.include({ event: 'ratings_deleted', data: { ratings: 2 } })
      const imported = { event: 'ratings_imported', data: { ratings: 2, rejected: 5 } }
      expect(trail.body.data[1]).to.deep.include(imported)
      expect(trail.body.data[1].actor).to.include({ type: 'root' })
    })

    it('can be repeated, and is read as it arrives', async () => {
      const encoder = new TextEncoder()
      const text = Array.from({ length: 500 }, (_, n) => rate(`Prompt number ${n}: ä€`, n % 2)).join('\n')
      const bytes = encoder.encode(text)
      const body = () =>
        new ReadableStream({
          start(controller) {
            for (let at = 0; at < bytes.length; at += 1009) controller.enqueue(bytes.slice(at, at + 1009))
            controller.close()
          },
        })
      for (const source of [body(), body()]) {
        const { body: result } = await importLines(source)
        expect(result.data).to.deep.equal({ imported: 500, rejected: 0, errors: [] })
      }
      expect((await deleteAll()).body.data).to.deep.equal({ deleted: 500 })
    })

    it('is refused for auditors, for compressed bodies, and for another format', async () => {
      const auditor = await newOperator(gateway, 'auditor')
      expect((await importLines(rate('hello', 1), auditor.headers)).status).to.equal(403)
      const gzip = await importLines('x', { ...AS_ADMIN, 'content-encoding': 'gzip' })
      expect(gzip.status).to.equal(415)
      const xml = await gateway.call('POST', '/admin/feedback?format=xml', {}, AS_ADMIN)
      expect(xml.status).to.equal(400)
    })
  })
})
