/**
 * Measures what users notice while another one's patterns take long: `npm run bench:neighbours`. Only figures
 * of the same run are comparable.
 */
import { compileFirewall } from '../../plugins/firewall/compile.ts'
import { evaluateFirewall } from '../../plugins/firewall/evaluate.ts'
import { firewallRuleBody, routingRuleBody } from '../support/bodies.ts'
import { prose } from '../support/evasion.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { EVALUATION } from '../support/pattern-run.ts'
import { firewallRule, ruleSet } from '../support/rules.ts'
import { describeMachine } from './machine.ts'
import { median } from './median.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 20)

const write = (line: string) => process.stdout.write(`${line}\n`)
const prompt = (content: string) => ({ messages: [{ role: 'user', content }] })
const gateway = await startGatewayProcess({}, { isOptimized: true })

async function makeUser(patterns: readonly string[], action = 'block'): Promise<TestUser> {
  const user = await newUser(gateway)
  for (const pattern of patterns) {
    const rule = firewallRuleBody({ name: 'r', type: 'regex', pattern, action })
    const { status, body } = await user.call('POST', '/v1/firewall-rules', rule)
    if (status !== 201) throw new Error(JSON.stringify(body))
  }
  return user
}

const cards = await makeUser(['(?<!\\d)(?:\\d[ -]?){13,16}(?!\\d)'])
const many = await makeUser(Array.from({ length: 200 }, (_, n) => `\\bclassified[-_ ]?document ${n}\\b`))
const TEXTS = [
  [cards, prose(16_000)],
  [many, prose(160_000)],
] as const

/** Both neighbours ask, one request after the other, until `isOver`. Times are in milliseconds. */
async function askUntil(isOver: () => boolean) {
  const times: number[] = []
  const failures = new Map<number, number>()
  const ask = async (user: TestUser, text: string) => {
    while (!isOver()) {
      const begun = performance.now()
      const { status } = await user.call('POST', '/v1/chat/completions', prompt(text))
      times.push(performance.now() - begun)
      if (status !== 200) failures.set(status, (failures.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(TEXTS.map(([user, text]) => ask(user, text)))
  const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
  return { requests: times.length, p50: median(times), p99, failures: Object.fromEntries(failures) }
}

const forSeconds = (seconds: number) => {
  const end = performance.now() + seconds * 1000
  return () => performance.now() > end
}

type Result = Awaited<ReturnType<typeof askUntil>>
const format = ({ requests, p50, p99, failures }: Result) =>
  `${String(requests).padStart(5)} requests, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ` +
  `not answered with 200: ${JSON.stringify(failures)}`

write(describeMachine())
await askUntil(forSeconds(3))
const quiet = await askUntil(forSeconds(SECONDS))
const bound = 2 * quiet.p99 + 50
write(`quiet                 ${format(quiet)}`)

const stuck = await makeUser(['/[ab]{1000}[ab]{1000}c/'], 'warn')
const longTexts = await newUser(gateway)
const operations = Array.from({ length: 320 }, (_, n) => {
  const data = routingRuleBody({ match_json: { contains: `${'x'.repeat(990)}${n}` } })
  return { kind: 'routing', op: 'create', data }
})
await longTexts.call('POST', '/v1/rules/batch', { operations })

for (const [what, user, text] of [
  ['RE2 is stuck         ', stuck, 'ab'.repeat(1_000_000)],
  ['many long texts      ', longTexts, 'x'.repeat(160_000)],
] as const) {
  const isOver = forSeconds(SECONDS)
  const abuse = async () => {
    while (!isOver()) await user.call('POST', '/v1/chat/completions', prompt(text))
  }
  const abusing = abuse()
  const result = await askUntil(isOver)
  write(`${what} ${format(result)} (p99 at most ${bound.toFixed(0)}: ${result.p99 <= bound})`)
  await abusing
}
await gateway.stop()

const SSN = '/\\b(?!000|666|9\\d{2})\\d{3}-(?!00)\\d{2}-(?!0000)\\d{4}\\b/'
const firewall = await compileFirewall(
  ruleSet([firewallRule({ type: 'regex', pattern: SSN, action: 'mask' })]),
)
const input = { messages: [{ role: 'user' as const, content: `${prose(1_000_000)} 123-45-6789` }] }
const times: number[] = []
const cpuTimes: number[] = []
for (let round = 0; round < 25; round++) {
  // Texts that matched nothing are remembered; a new one is searched.
  const content = `${round} ${input.messages[0]?.content}`
  const cpuBefore = process.cpuUsage()
  const begun = performance.now()
  await evaluateFirewall(firewall, { messages: [{ role: 'user', content }] }, EVALUATION)
  times.push(performance.now() - begun)
  const { user, system } = process.cpuUsage(cpuBefore)
  cpuTimes.push((user + system) / 1000)
}
write(
  `masking an SSN with look-around in 1 MB of prose: p50 ${median(times).toFixed(1)} ms (at most 30), ` +
    `${median(cpuTimes).toFixed(1)} ms of CPU time`,
)
process.exit()
