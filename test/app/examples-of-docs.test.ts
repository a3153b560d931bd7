import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { hasCurl, readCurlBlocks, runBlock } from '../support/pages.ts'
import { skip } from '../support/skip.ts'

/** In the order in which a reader may open them. */
const PAGES = [
  'README.md',
  'docs/responses.md',
  'docs/feedback.md',
  'docs/firewall.md',
  'docs/policies.md',
  'docs/what-if.md',
  'docs/usage.md',
  'docs/budgets.md',
  'docs/running.md',
  'docs/sandbox.md',
  'docs/audit.md',
  'docs/operators.md',
]

describe('the examples of the documentation', () => {
  let gateway: RunningGateway

  before(async function () {
    if (!(await hasCurl())) skip(this, 'curl is not installed')
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
