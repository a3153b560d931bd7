import { expect } from 'chai'
import fc from 'fast-check'
import { GatewayError, ReplyEvent, type ReplyPart } from '../../../../core/contract/index.ts'
import { type CallDecider, ruleReplyCalls } from '../../../../plugins/tool-rules/reply-calls.ts'
import { inRounds } from '../../../support/property.ts'

/** The name says what is decided: at the name, or by the arguments, which then say it. */
interface ScriptedCall {
  readonly name: 'pass' | 'deny' | 'ask'
  readonly json: 'pass' | 'deny' | ''
}

const isKept = ({ name, json }: ScriptedCall) => name === 'pass' || (name === 'ask' && json !== 'deny')

const denied = new GatewayError('endpoint_not_allowed', 'No.')

const createDecider = (): CallDecider => ({
  byName: ({ name }) => (name === 'ask' ? undefined : name === 'deny' ? denied : 'pass'),
  complete: async (calls) =>
    calls.map(({ start, json }) =>
      isKept({ name: start.name, json } as ScriptedCall) ? { json } : { refusal: denied },
    ),
  tooLong: () => denied,
  removed: () => undefined,
})

interface Scripted {
  readonly text: string
  readonly calls: readonly ScriptedCall[]
  /** Divides the parts into events, and the arguments into pieces. */
  readonly cuts: readonly boolean[]
  readonly byTurns: boolean
}

const scripted: fc.Arbitrary<Scripted> = fc.record({
  text: fc.constantFrom('', 'Hm.'),
  calls: fc.array(
    fc.record<ScriptedCall>({
      name: fc.constantFrom('pass', 'deny', 'ask'),
      json: fc.constantFrom('pass', 'deny', ''),
    }),
    { maxLength: 6 },
  ),
  cuts: fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
  byTurns: fc.boolean(),
})

/** The parts of a stream; the arguments of parallel calls in a row, or by turns. */
function toParts({ text, calls, byTurns }: Scripted): readonly ReplyPart[] {
  const starts = calls.map(({ name }, index): ReplyPart => {
    return { type: 'tool-start', index, id: `id_${index}`, name }
  })
  const pieces = (at: number, half: 0 | 1): readonly ReplyPart[] => {
    const json = calls[at]?.json ?? ''
    const piece = half === 0 ? json.slice(0, 2) : json.slice(2)
    return piece === '' ? [] : [{ type: 'tool-json', index: at, json: piece }]
  }
  const inner = byTurns
    ? [...starts, ...[0, 1].flatMap((half) => calls.flatMap((_, at) => pieces(at, half as 0 | 1)))]
    : starts.flatMap((start, at) => [start, ...pieces(at, 0), ...pieces(at, 1)])
  return [
    { type: 'start', id: 'reply', model: 'm' },
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...inner,
    { type: 'finish', reason: calls.length > 0 ? 'tool_calls' : 'stop' },
    { type: 'usage', usage: { input: 1, output: 1 } },
  ]
}

function toEvents(parts: readonly ReplyPart[], cuts: readonly boolean[]): readonly ReplyEvent[] {
  const groups: ReplyPart[][] = [[]]
  for (const [index, part] of parts.entries()) {
    if (cuts[index]) groups.push([])
    groups.at(-1)?.push(part)
  }
  return groups.map((group) => new ReplyEvent(group))
}

async function rule(events: readonly ReplyEvent[], mode: 'refuse' | 'remove') {
  const transform = ruleReplyCalls(createDecider(), mode)
  const sent: ReplyEvent[] = []
  for (const event of events) sent.push(...(await transform.transform(event)))
  sent.push(...((await transform.flush?.()) ?? []))
  return { sent, parts: sent.flatMap(({ parts }) => parts) }
}

/** What a client makes of it. */
function read(parts: readonly ReplyPart[]) {
  const calls: { id: string; index: number; json: string }[] = []
  let text = ''
  let finish = ''
  for (const part of parts) {
    if (part.type === 'text') text += part.text
    if (part.type === 'finish') finish = part.reason
    if (part.type === 'tool-start') calls.push({ id: part.id, index: part.index, json: '' })
    const call = part.type === 'tool-json' ? calls.find(({ index }) => index === part.index) : undefined
    if (part.type === 'tool-json' && call === undefined) throw new Error('arguments without a call')
    if (call !== undefined && part.type === 'tool-json') call.json += part.json
  }
  return { calls, text, finish }
}

describe('calls of tools in replies', () => {
  it('are removed alike in whole replies and in streams, wherever these are divided', async () => {
    await fc.assert(
      fc.asyncProperty(scripted, async (script) => {
        const parts = toParts(script)
        const kept = script.calls.flatMap((call, index) =>
          isKept(call) ? [{ ...call, id: `id_${index}` }] : [],
        )
        const isEmptied = kept.length === 0 && script.calls.length > 0
        const notices = script.calls.map(() => denied.message).join('\n')
        const expected = {
          calls: kept.map(({ id, json }, index) => ({ id, index, json })),
          text: isEmptied && script.text === '' ? notices : script.text,
          finish: kept.length > 0 ? 'tool_calls' : 'stop',
        }
        const whole = await rule([new ReplyEvent(parts)], 'remove')
        expect(read(whole.parts)).to.deep.equal(expected)
        const events = toEvents(parts, script.cuts)
        const streamed = await rule(events, 'remove')
        expect(read(streamed.parts)).to.deep.equal(expected)
        // Nothing is built again that did not change.
        if (script.calls.every(({ name }) => name === 'pass')) expect(streamed.sent).to.deep.equal(events)
      }),
      inRounds(500),
    )
  })

  it('end the reply if one is refused, and nothing of it or of what was held is sent', async () => {
    await fc.assert(
      fc.asyncProperty(scripted, async (script) => {
        const events = toEvents(toParts(script), script.cuts)
        const outcome = await rule(events, 'refuse').catch((error: unknown) => error)
        if (script.calls.every(isKept)) expect(outcome).to.have.property('parts')
        else expect(outcome).to.equal(denied)
      }),
      inRounds(300),
    )
  })

  it('are not sent if a stream ends without a finish before they are decided about', async () => {
    const call: ReplyPart = { type: 'tool-start', index: 0, id: 'id_0', name: 'ask' }
    const json: ReplyPart = { type: 'tool-json', index: 0, json: 'deny' }
    const { parts } = await rule([new ReplyEvent([call]), new ReplyEvent([json])], 'remove')
    expect(read(parts)).to.deep.equal({ calls: [], text: 'No.', finish: '' })
    const late = [new ReplyEvent([{ type: 'finish', reason: 'stop' }]), new ReplyEvent([call, json])]
    expect(read((await rule(late, 'remove')).parts).calls).to.deep.equal([])
    const after = [new ReplyEvent([call, { type: 'finish', reason: 'tool_calls' }]), new ReplyEvent([json])]
    expect(read((await rule(after, 'remove')).parts).calls).to.deep.equal([
      { id: 'id_0', index: 0, json: '' },
    ])
  })

  it('have at most a million characters of arguments that must be held', async () => {
    const long = { type: 'tool-json', index: 0, json: 'x'.repeat(500_001) } as const
    const events = [
      new ReplyEvent([{ type: 'tool-start', index: 0, id: 'id_0', name: 'ask' }, long]),
      new ReplyEvent([long]),
    ]
    expect(await rule(events, 'remove').catch((error: unknown) => error)).to.equal(denied)
  })
})
