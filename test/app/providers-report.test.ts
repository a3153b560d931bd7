import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import {
  resetDeployments,
  startDeployments,
  type TwoDeployments,
  withDeployments,
} from '../support/deployments.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'

const KEYS = ['the-key-of-east', 'the-key-of-west']

describe('the providers as operators see them', () => {
  let both: TwoDeployments
  let gateway: RunningGateway
  let failedId: string
  const answers: string[] = []

  before(async () => {
    both = await startDeployments()
    const file = path.join(await makeFolder(), 'west.key')
    await writeFile(file, 'the-key-of-west\n')
    const { WEST_KEY: _, ...environment } = await withDeployments(both, {
      isSpareUsed: true,
      more: { breaker: { open_ms: 600_000 } },
      west: { weight: 3, region: 'eu', requests_per_minute: 600, model: 'west-name' },
      row: { base_url: 'http://someone:hidden@127.0.0.1:1/v1' },
    })
    gateway = await startGateway({ ...environment, WEST_KEY_FILE: file })
    const user = await newUser(gateway)
    const ask = (model: string) =>
      user.call('POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })
    resetDeployments(both)
    // The first request goes to west, whose weight is larger, and then to east.
    both.west.play({ status: 429, headers: { 'retry-after': '60' }, body: { error: { message: 'Later.' } } })
    for (let sent = 0; sent < 3; sent++) expect((await ask('openai/gpt-4o')).status).to.equal(200)
    both.spare.close()
    const failed = await ask('spare/some-model')
    expect(failed.status).to.equal(502)
    failedId = failed.headers.get('x-request-id') ?? ''
  })
  afterEach(() => {
    for (const secret of [...KEYS, 'hidden']) expect(answers.join()).to.not.include(secret)
  })
  after(async () => {
    await gateway.stop()
    both.close()
  })

  const call = async (method: 'GET' | 'POST', address: string, headers = AS_ADMIN) => {
    const answer = await gateway.call(method, address, method === 'POST' ? {} : undefined, headers)
    answers.push(JSON.stringify(answer.body))
    return answer
  }
  const read = async (id: string) => {
    const { data } = (await call('GET', '/admin/providers')).body
    return data.providers.find(({ provider }: { provider: string }) => provider === id)
  }

  it('have their deployments with limits, and the names of keys instead of keys', async () => {
    const { deployments, ...openai } = await read('openai')
    expect(openai).to.include({ is_configured: true, balance: 'weighted', base_url: 'http://127.0.0.1:1/v1' })
    expect(openai.key).to.deep.equal({
      ...{ type: 'key', variable: 'OPENAI_API_KEY', file: null, is_set: true },
    })
    const [east, west] = deployments
    expect(east).to.deep.include({
      ...{ id: 'east', base_url: both.east.url, weight: 1, requests_per_minute: null, region: null },
      ...{ model: null, requests_in_flight: 0 },
      key: { type: 'key', variable: 'EAST_KEY', file: null, is_set: true },
    })
    expect(west).to.include({ weight: 3, region: 'eu', requests_per_minute: 600, model: 'west-name' })
    expect(west.key).to.include({ variable: 'WEST_KEY', is_set: true })
    expect(west.key.file).to.match(/west\.key$/)
    const anthropic = await read('anthropic')
    expect(anthropic).to.deep.include({
      ...{ is_configured: false, calls: 0, latency_p50_ms: null, last_error: null, deployments: [] },
      key: { type: 'key', variable: 'ANTHROPIC_API_KEY', file: null, is_set: false },
    })
    expect((await read('spare')).key.type).to.equal('none')
  })

  it('have their calls by model and deployment, and what rests for a rate limit', async () => {
    const { targets, ...openai } = await read('openai')
    expect(openai).to.include({ calls: 4, errors: 1, state: 'closed' })
    expect(openai.last_error).to.include({ code: 'provider_rate_limited', deployment: 'west' })
    const find = (id: string) => targets.find(({ deployment }: { deployment: string }) => deployment === id)
    expect(find('east')).to.include({ model: 'gpt-4o', calls: 3, errors: 0, rest_reason: null })
    expect(find('east').latency_p50_ms).to.be.at.most(find('east').latency_p95_ms)
    expect(find('west')).to.include({ calls: 1, errors: 1, latency_p50_ms: null, rest_reason: 'rate_limit' })
    expect(find('west').rest_seconds).to.be.within(1, 60)
  })

  it('have circuits that are open, and the request that failed last', async () => {
    const { targets, ...spare } = await read('spare')
    expect(spare).to.include({ state: 'open' })
    expect(targets).to.have.length(1)
    expect(targets[0]).to.include({ model: 'some-model', state: 'open', rest_reason: 'circuit' })
    expect(targets[0].rest_seconds).to.be.above(0)
    expect(spare.last_error).to.include({ code: 'provider_unreachable', request_id: failedId })
  })

  it('are tested free of charge, each deployment for itself', async () => {
    both.east.play({ body: { data: [{ id: 'gpt-4o' }] } })
    both.west.play({ status: 401, body: { error: { message: `Not ${KEYS[1]}.` } } })
    const { status, body } = await call('POST', '/admin/providers/openai/check')
    expect(status).to.equal(200)
    const [east, west] = body.data.results
    expect(east).to.include({ provider: 'openai/east', status: 'ok', models: 1, message: null })
    expect(east.missing_models).to.include('gpt-4o-mini').and.not.include('gpt-4o')
    expect(west).to.deep.include({ provider: 'openai/west', status: 'failed', models: null })
    expect(west.message).to.equal('The key was rejected (401). Check WEST_KEY.')
    expect(both.east.last()).to.include({ path: '/v1/models', body: undefined })
    expect(both.east.last()?.headers.authorization).to.equal(`Bearer ${KEYS[0]}`)
  })

  it('that are not in the settings, or have no key, are not called', async () => {
    const unknown = await call('POST', '/admin/providers/toString/check')
    expect(unknown.status).to.equal(404)
    expect(unknown.body.error.message).to.equal('Provider toString is not in the settings.')
    const { body } = await call('POST', '/admin/providers/anthropic/check')
    expect(body.data.results).to.have.length(1)
    expect(body.data.results[0]).to.include({
      ...{ status: 'failed', message: 'It has no key: set ANTHROPIC_API_KEY.' },
    })
  })

  it('are for operators who see everything, and tests for editors', async () => {
    const auditor = { authorization: `Bearer ${(await newOperator(gateway, 'auditor')).key}` }
    expect((await call('GET', '/admin/providers', auditor)).status).to.equal(200)
    expect((await call('POST', '/admin/providers/openai/check', auditor)).status).to.equal(403)
    const group = (await gateway.call('POST', '/admin/groups', { name: 'G' }, AS_ADMIN)).body.data.id
    const { key } = await newOperator(gateway, 'admin', 'Sue', { scope: { groups: [group] } })
    const scoped = { authorization: `Bearer ${key}` }
    expect((await call('GET', '/admin/providers', scoped)).status).to.equal(403)
    expect((await call('POST', '/admin/providers/openai/check', scoped)).status).to.equal(403)
  })

  it('say that the sandbox answers while none is configured', async () => {
    const other = await startGateway()
    const { body } = await other.call('GET', '/admin/providers', undefined, AS_ADMIN)
    expect(body.data).to.include({ uses_sandbox: true, requests: 0, is_partial: false })
    await other.stop()
  })
})
