import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { hasTools, readCurlBlocks, runBlock } from '../support/pages.ts'
import { skip } from '../support/skip.ts'

/**
 * In the order in which a reader may open them, on one gateway. test/release/guides.test.ts runs all guides,
 * each on a gateway of its own.
 */
const PAGES = [
  'README.md',
  'docs/start.md',
  'docs/guides/responses.md',
  'docs/guides/feedback.md',
  'docs/guides/firewall.md',
  'docs/guides/policies.md',
  'docs/guides/groups.md',
  'docs/guides/what-if.md',
  'docs/guides/usage.md',
  'docs/guides/budgets.md',
  'docs/guides/users.md',
  'docs/guides/sandbox.md',
  'docs/guides/simulate.md',
  'docs/guides/audit-trail.md',
  'docs/guides/operators.md',
]

describe('the examples of the documentation', () => {
  let gateway: RunningGateway

  before(async function () {
    if (!(await hasTools())) skip(this, 'curl or jq is not installed')
    gateway = await startGateway()
  })
  after(() => gateway?.stop())

  it('can be pasted in order, page after page', async () => {
    for (const page of PAGES) {
      const blocks = (await readCurlBlocks(page)).filter((block) => block.includes('127.0.0.1:8080'))
      expect(blocks, page).not.to.be.empty
      for (const block of blocks) await runBlock(gateway, block)
    }
  })
})
