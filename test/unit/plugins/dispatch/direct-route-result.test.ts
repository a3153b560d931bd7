import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { readSettings } from '../../../../config/settings/settings.ts'
import { type Model, type RepliedExchange, ReplyEvent, type Usage } from '../../../../core/contract/index.ts'
import { costOf } from '../../../../core/prices/cost.ts'
import { buildRouteResult } from '../../../../plugins/dispatch/direct-route.ts'
import { createCatalog } from '../../../../providers/shared/catalog.ts'
import { ROOT } from '../../../support/root.ts'

/** 300,000 input tokens, of which 200,000 are cached, and 2,000 output tokens. */
const usage: Usage = { input: 300_000, cached: 200_000, output: 2000 }

describe('the worked example of docs/guides/routing.md', () => {
  const { models } = readSettings({})
  const catalog = createCatalog(models)

  const find = (name: string) => catalog.find(name) ?? expect.fail(`${name} is not in the catalog`)

  it('has the costs that the page shows', async () => {
    const page = await readFile(new URL('docs/guides/routing.md', ROOT), 'utf8')
    for (const [name, cost] of [
      ['gpt-6.1-sol', '$0.47'],
      ['gpt-6-astra', '$2.55'],
    ] as const) {
      expect(costOf(find(name), usage)).to.be.closeTo(Number(cost.slice(1)), 1e-9)
      expect(page).to.contain(cost)
    }
    expect(page).to.contain('"estimated_cost": 0.47').and.contain('"cost_savings": "81.6%"')
  })

  it('matches the result of direct routing', () => {
    const entry = find('gpt-6.1-sol')
    const isCandidate = ({ context, automatic }: Model) => context > 300_500 && automatic !== false
    // The cast is safe: no other fields are read.
    const exchange = {
      id: 'req_0',
      target: { provider: entry.provider, model: entry.id, entry },
      usage,
      costUsd: costOf(entry, usage),
      route: { reason: '', score: 1, candidates: () => models.filter(isCandidate) },
      reply: { type: 'whole', event: new ReplyEvent([]) },
      startedAt: performance.now(),
    } as unknown as RepliedExchange
    const { router_meta } = buildRouteResult(exchange)
    expect(router_meta).to.deep.include({ estimated_cost: 0.47, cost_savings: '81.6%' })
  })
})
