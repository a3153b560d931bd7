import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { compilePatternSet } from '../../core/text/pattern-set.ts'
import { compileFirewall } from '../../plugins/firewall/compile.ts'
import { evaluateFirewall } from '../../plugins/firewall/evaluate.ts'
import { firewallRule, ruleSet } from '../support/rules.ts'

describe('the event loop', () => {
  it('is not blocked by a search in a long text for a thousand patterns', async () => {
    const set = await compilePatternSet(Array.from({ length: 1000 }, (_, n) => `foo${n}.*bar`))
    const text = Array.from({ length: 6000 }, (_, n) => `foo${n % 1000} lorem ipsum`).join(' ')
    const [found, longestMs] = await measureLongestTask(() => set.find([text]))
    expect(found).to.deep.equal([])
    expect(longestMs).to.be.below(100)
  })

  it('is not blocked by a mask that would expand a prompt to a gigabyte', async () => {
    const content = 'a'.repeat(100_000)
    const rule = firewallRule({ type: 'regex', pattern: '.', replacement: 'x'.repeat(10_000) })
    const firewall = await compileFirewall(ruleSet([rule]))
    const [{ request, overruns }, longestMs] = await measureLongestTask(() =>
      evaluateFirewall(firewall, { messages: [{ role: 'user', content }] }),
    )
    expect(longestMs).to.be.below(500)
    expect(request.messages[0]?.content).to.equal(content)
    expect(overruns).to.deep.equal(['.'])
  })
})

/** Returns the result, and the longest time in ms that the event loop was blocked meanwhile. */
async function measureLongestTask<Result>(run: () => Result | Promise<Result>): Promise<[Result, number]> {
  let last = performance.now()
  let longestMs = 0
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - last)
    last = performance.now()
  }, 1)
  const result = await run()
  await setTimeout(10)
  clearInterval(timer)
  return [result, longestMs]
}
