import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { withSettings } from '../support/settings.ts'

const OWN = `
  - id: gpt-4o
    provider: openai
    context: 128000
    max_output: 16384
    price: { input: 5, cached: 1.25, output: 10 }
    quality: 70
    latency_ms: 1500
    region: eu
    zdr: true
    capabilities: { tools: true, images: true, json: schema }
`

interface Shown {
  readonly id: string
  readonly provider: string
  readonly source: string
}

describe('the catalogue as operators see it', () => {
  let gateway: RunningGateway
  let folder: string
  let list: string

  before(async () => {
    folder = await makeFolder()
    list = path.join(folder, 'prices.json')
    const environment = await withSettings(
      `models: ${OWN}model_aliases: { cheap: 'auto:cost' }\nprice_list: ${list}\n`,
    )
    gateway = await startGateway({ ...environment, OPENAI_API_KEY: 'sk-test' }, { dataDir: folder })
  })
  after(() => gateway.stop())

  const read = async () => (await gateway.call('GET', '/admin/models', undefined, AS_ADMIN)).body.data
  const find = (models: readonly Shown[], id: string) => models.find((model) => model.id === id)

  it('has each model with its price, its attributes and where its row is', async () => {
    const { models, updated } = await read()
    const own = find(models, 'gpt-4o')
    expect(own).to.deep.include({
      ...{ provider: 'openai', state: 'available', source: 'settings', operation: 'chat' },
      price: { input: 5, cached: 1.25, output: 10 },
      ...{ region: 'eu', zdr: true, retention_days: null, trains_on_data: null },
      ...{ latency_ms: 1500, expected_latency_ms: 1500, automatic: true },
    })
    const claude = models.find(({ provider }: Shown) => provider === 'anthropic')
    expect(claude).to.include({ state: 'not_configured', source: 'shipped', region: null })
    expect(claude.changed_prices).to.deep.equal([])
    expect(updated).to.equal(null)
  })

  it('names the prices that differ from the shipped ones', async () => {
    const { models } = await read()
    const { changed_prices: changed } = find(models, 'gpt-4o') as never
    expect(changed).to.deep.include({
      ...{ change: 'cheaper', provider: 'openai', model: 'gpt-4o', price: 'input', here: 5, there: 2.5 },
    })
    expect(changed).to.not.satisfy((all: readonly { price: string }[]) =>
      all.some(({ price }) => price === 'output'),
    )
  })

  it('has the weights of routing by mode, and the aliases of modes', async () => {
    const { modes } = await read()
    expect(modes.map(({ mode }: { mode: string }) => mode)).to.deep.equal([
      ...['balance', 'cost', 'quality', 'latency'],
    ])
    const cost = modes.find(({ mode }: { mode: string }) => mode === 'cost')
    expect(cost.aliases).to.deep.equal(['cheap'])
    expect(cost.cost).to.be.above(cost.quality)
  })

  it('says what "models update" has changed, and when', async () => {
    const rows = [
      { provider: 'openai', id: 'gpt-4o-mini', price: { input: 0.3, cached: 0.075, output: 0.6 } },
    ]
    const source = path.join(folder, 'update.json')
    await writeFile(source, JSON.stringify(rows))
    const { code } = await runCommand(['models', 'update', source], { DATA_DIR: folder })
    expect(code).to.equal(0)
    const { models, updated } = await read()
    expect(find(models, 'gpt-4o-mini')).to.include({ source: 'updated' })
    expect(updated).to.deep.equal({ date: new Date().toISOString().slice(0, 10), source })
  })

  describe('compared with the list of the settings', () => {
    const compare = (headers = AS_ADMIN) => gateway.call('POST', '/admin/models/compare', {}, headers)

    it('has the prices that differ', async () => {
      const rows = [{ provider: 'openai', id: 'gpt-4o', price: { input: 6, cached: 1.25, output: 10 } }]
      await writeFile(list, JSON.stringify(rows))
      const { status, body } = await compare()
      expect(status).to.equal(200)
      expect(body.data).to.include({ source: list, compared: 1 })
      const priced = body.data.differences.filter(({ price }: { price: string }) => price !== '')
      expect(priced).to.deep.include({
        ...{ change: 'dearer', provider: 'openai', model: 'gpt-4o', price: 'input', here: 5, there: 6 },
      })
    })

    for (const [what, text, message] of [
      ['is no list of prices', '{"a": 1}', 'has no prices'],
      ['cannot be parsed', '{"a": [', 'is not valid YAML or JSON'],
    ] as const)
      it(`says so if it ${what}`, async () => {
        await writeFile(list, text)
        const { status, body } = await compare()
        expect(status).to.equal(502)
        expect(body.error.code).to.equal('price_list_unavailable')
        expect(body.error.message).to.include(message).and.include('Check price_list in the settings.')
      })

    it('is for editors, and the catalogue for all operators', async () => {
      const auditor = await newOperator(gateway, 'auditor')
      const asAuditor = { authorization: `Bearer ${auditor.key}` }
      expect((await compare(asAuditor)).status).to.equal(403)
      expect((await gateway.call('GET', '/admin/models', undefined, asAuditor)).status).to.equal(200)
      const asUser = { authorization: `Bearer ${(await newUser(gateway)).key}` }
      expect((await gateway.call('GET', '/admin/models', undefined, asUser)).status).to.equal(401)
    })
  })

  it('shows no credentials in the address of the list', async () => {
    const address = 'http://someone:hidden@127.0.0.1:1/prices?token=hidden'
    const other = await startGateway(await withSettings(`price_list: ${address}\n`))
    const { body } = await other.call('GET', '/admin/models', undefined, AS_ADMIN)
    expect(body.data.price_list).to.equal('http://127.0.0.1:1/prices')
    const compared = await other.call('POST', '/admin/models/compare', {}, AS_ADMIN)
    expect(compared.status).to.equal(502)
    expect(JSON.stringify([body, compared.body])).to.not.include('hidden')
    await other.stop()
  })
})
