/**
 * Measures firewall rules by their number: `npm run bench:rules`. Only figures of the same run are
 * comparable.
 */
import { compileFirewall } from '../../plugins/firewall/compile.ts'
import { evaluateFirewall } from '../../plugins/firewall/evaluate.ts'
import { EVALUATION } from '../support/pattern-run.ts'
import { firewallRule, ruleSet } from '../support/rules.ts'
import { measureReplyRules } from './reply-rules.ts'
import { measureRuleWalk } from './rule-walk.ts'

const LOREM =
  'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt 12345 ada@example.com. '
const prompt = (length: number) => LOREM.repeat(Math.ceil(length / LOREM.length)).slice(0, length)
const request = (content: string) => ({ messages: [{ role: 'user' as const, content }] })

/** Realistic patterns, none of which matches. */
function patterns(count: number, salt = ''): string[] {
  const shapes = [
    (n: number | string) => `\\bsecret[-_ ]?${n}\\b`,
    (n: number | string) => `[a-z0-9._%+-]+@corp${n}\\.com`,
    (n: number | string) => `\\d{3}-\\d{2}-1${n}`,
    (n: number | string) => `ignore (all )?previous instructions ${n}`,
    (n: number | string) => `AKIA${n}[0-9A-Z]{12}`,
    (n: number | string) => `proj(ect)?\\s*x${n}`,
    (n: number | string) => `hidden${n}.*door`,
    (n: number | string) => `https?://[^ ]*evil${n}\\.`,
  ]
  return Array.from({ length: count }, (_, n) => shapes[n % shapes.length]?.(`${n}${salt}`) ?? '')
}

const compile = (count: number, salt = '') =>
  compileFirewall(ruleSet(patterns(count, salt).map((pattern) => firewallRule({ type: 'regex', pattern }))))

/** Returns the median time of a call over several rounds, in microseconds. */
async function measure(work: () => unknown, times: number): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < 9; round++) {
    const begun = performance.now()
    for (let time = 0; time < times; time++) await work()
    rounds.push(((performance.now() - begun) / times) * 1000)
  }
  return rounds.sort((a, b) => a - b)[4] ?? 0
}

const rows: [string, string][] = []
const small = request(prompt(1024))
const costs = new Map<number, number>()
for (const count of [0, 10, 100, 1000, 5000]) {
  const firewall = await compile(count)
  costs.set(count, await measure(() => evaluateFirewall(firewall, small, EVALUATION), 2000))
  rows.push([`${count} regexes, 1 KB`, `${costs.get(count)?.toFixed(1)} µs`])
}
const cost = (count: number) => costs.get(count) ?? 0
rows.push(['1,000 ÷ 10 (at most 2)', (cost(1000) / cost(10)).toFixed(2)])
rows.push(['5,000 ÷ 10 (at most 8)', (cost(5000) / cost(10)).toFixed(2)])

const single = patterns(1000).map((pattern) => new RegExp(pattern, 'i'))
const text = prompt(1024)
const oneByOne = await measure(() => single.some((regex) => regex.test(text)), 20)
rows.push(['1,000 RegExp one by one ÷ ours (at least 300)', (oneByOne / cost(1000)).toFixed(0)])

const large = request(prompt(100 * 1024))
const thousand = await compile(1000)
rows.push([
  '1,000 regexes, 100 KB (under 3 ms)',
  `${((await measure(() => evaluateFirewall(thousand, large, EVALUATION), 20)) / 1000).toFixed(2)} ms`,
])

/** As an agent sends them with every request. */
const tools = Array.from({ length: 20 }, (_, n) => ({
  type: 'function' as const,
  function: {
    name: `tool_${n}`,
    description: `Looks up the weather of a city, variant ${n}.`,
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', description: `The city, such as number ${n}.` },
        unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
        days: { type: 'integer', minimum: 1, maximum: 14, description: 'How many days ahead.' },
      },
      required: ['city'],
      additionalProperties: false,
    },
  },
}))
const ten = await compile(10)
for (const [what, body] of [
  ['10 regexes, a short message', JSON.stringify(request('What is the weather in Paris?'))],
  ['10 regexes, 20 tools', JSON.stringify({ ...request('What is the weather in Paris?'), tools })],
] as const) {
  const parsed = JSON.parse(body)
  rows.push([what, `${(await measure(() => evaluateFirewall(ten, parsed, EVALUATION), 2000)).toFixed(1)} µs`])
}
const values = Array.from({ length: 30_000 }, (_, n) => [`row number ${n} of the list`, n * 7919])
const toolResult = { role: 'tool' as const, tool_call_id: 'c', content: JSON.stringify(values) }
rows.push([
  '10 regexes, a tool result of 60,000 JSON values',
  `${((await measure(() => evaluateFirewall(ten, { messages: [toolResult] }, EVALUATION), 3)) / 1000).toFixed(0)} ms`,
])

let salt = 0
for (const count of [1000, 5000]) {
  const anew = await measure(() => compile(count, `x${salt++}x`), 1)
  const again = await measure(() => compile(count), 1)
  rows.push([
    `compiling ${count} new rules${count === 1000 ? ' (under 50 ms)' : ''}`,
    `${(anew / 1000).toFixed(1)} ms`,
  ])
  rows.push([`compiling ${count} rules after one changed`, `${(again / 1000).toFixed(1)} ms`])
}
const policies = await Promise.all(
  [1, 2, 3].map((id) => {
    const rules = patterns(100, `p${id}`).map((pattern) => firewallRule({ type: 'regex', pattern }))
    return compileFirewall({ ...ruleSet(rules), origin: { type: 'policy', id, name: `P${id}` } })
  }),
)
const own = await compileFirewall(ruleSet([firewallRule({ pattern: 'masked' })]))
rows.push(...(await measureRuleWalk([...policies, own])))
rows.push(...(await measureReplyRules()))
for (const [what, figure] of rows) process.stdout.write(`${what.padEnd(62)}${figure}\n`)
process.exit()
