import type {
  ChatRequest,
  ExtraPart,
  GatewayError,
  ReplyEvent,
  ReplyPart,
  ReplyTransform,
} from '../../core/contract/index.ts'
import {
  argumentsOf,
  isTextPart,
  type RepliedCall,
  type TextKind,
  toCallsRequest,
  toExtraRequest,
  toReplyRequest,
  withMaskedContent,
  withMaskedTexts,
} from '../../core/inspection/reply-request.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { EvaluationOptions } from './evaluate.ts'
import { InspectedText, type ResponseFirewall } from './inspected-text.ts'
import { firewallError } from './refusal.ts'
import type { ReplyReport } from './reply-report.ts'
import { RuleWalk } from './rule-walk.ts'

export interface ReplyInspectionOptions {
  readonly evaluation: EvaluationOptions
  readonly report: ReplyReport
  readonly cpuMs: number
  readonly holdBackChars: number
  /** The rules look again at a reply that other plugins have changed since. */
  readonly isAgain?: boolean
}

/** Returns what all sets of rules leave of a part of a reply. */
type InspectPart = (request: ChatRequest) => Promise<ChatRequest>

function createInspection(
  firewalls: readonly ResponseFirewall[],
  { evaluation, report, isAgain }: ReplyInspectionOptions,
): InspectPart {
  return async (request) => {
    const walk = new RuleWalk(evaluation, report.addOutcome, isAgain)
    let inspected = request
    for (const firewall of firewalls) inspected = await walk.visit(firewall, inspected)
    return walk.settle(inspected)
  }
}

/**
 * Creates the transform that applies the rules to a whole reply. See docs/decisions/firewall.md, "A reply
 * under response rules is built from its parts".
 */
export function inspectWholeReply(
  firewalls: readonly ResponseFirewall[],
  options: ReplyInspectionOptions,
): ReplyTransform {
  const inspect = createInspection(firewalls, options)
  return {
    async transform(event) {
      const request = toReplyRequest(event.parts)
      const inspected = await inspect(request)
      const isMasked = inspected !== request
      const parts = isMasked ? withMaskedTexts(event.parts, inspected) : event.parts
      await createJoinedTexts(firewalls, options).add(parts)
      return [event.withParts(parts)]
    },
  }
}

/** Creates the transform that applies the rules to a stream: see docs/guides/firewall-replies.md. */
export function inspectStream(
  firewalls: readonly ResponseFirewall[],
  options: ReplyInspectionOptions,
): ReplyTransform {
  const { evaluation, report, cpuMs, holdBackChars, isAgain = false } = options
  const inspect = createInspection(firewalls, options)
  const limits = { run: evaluation.createRun(0), cpuMs, holdBackChars, report }
  const slice = createCooperativeYield(3)
  const texts = new Map<TextKind, InspectedText>()
  const calls = createHeldCalls(inspect)
  const joined = createJoinedTexts(firewalls, options)
  let current: TextKind | undefined
  let lastEvent: ReplyEvent | undefined

  function textOf(kind: TextKind): InspectedText {
    const text = texts.get(kind) ?? new InspectedText(firewalls, limits, slice, isAgain)
    texts.set(kind, text)
    return text
  }

  /** Passes on what is held of the text that something else follows. */
  async function interruptText(): Promise<readonly ReplyPart[]> {
    if (current === undefined) return []
    const kind = current
    current = undefined
    return toTextParts(kind, await textOf(kind).push('', true))
  }

  async function transformPart(part: ReplyPart): Promise<readonly ReplyPart[]> {
    if (isTextPart(part)) {
      const before = part.type === current ? [] : await interruptText()
      current = part.type
      return [...before, ...toTextParts(part.type, await textOf(part.type).push(part.text, false))]
    }
    switch (part.type) {
      case 'tool-start':
        calls.start(part)
        return [...(await interruptText()), part]
      case 'tool-json':
        calls.add(part.index, part.json)
        return []
      case 'extra':
        return transformExtra(part)
      case 'finish':
        return [...(await interruptText()), ...(await calls.release()), part]
      default:
        return [part]
    }
  }

  /**
   * Texts of two blocks are inspected as one, because other clients receive them as one: their boundary is
   * dropped. A signature follows all of its thinking.
   */
  async function transformExtra(part: ExtraPart): Promise<readonly ReplyPart[]> {
    if (part.place === 'start' && part.content.anthropic?.type === 'text') return []
    const request = toExtraRequest(part)
    const inspected = await inspect(request)
    const follows = part.place === 'start' || part.place === 'block' || current === 'reasoning'
    return [...(follows ? await interruptText() : []), withMaskedContent(part, inspected)]
  }

  return {
    async transform(event) {
      lastEvent = event
      const parts: ReplyPart[] = []
      for (const part of event.parts) parts.push(...(await transformPart(part)))
      await joined.add(parts)
      return parts.length === 0 ? [] : [event.withParts(parts)]
    },
    async flush() {
      const parts = [...(await interruptText()), ...(await calls.release())]
      await joined.add(parts)
      return parts.length === 0 || lastEvent === undefined ? [] : [lastEvent.withParts(parts)]
    },
  }
}

function toTextParts(type: TextKind, text: string): readonly ReplyPart[] {
  return text === '' ? [] : [{ type, text }]
}

interface JoinedTexts {
  /**
   * Adds parts that are about to be sent. Throws the refusal of a rule that their border completes a match
   * of.
   */
  add(parts: readonly ReplyPart[]): Promise<void>
}

/**
 * Finds matches that are divided between text and refusal, which some formats send as one text, in the
 * order in which they arrive. Few replies have both.
 */
function createJoinedTexts(
  firewalls: readonly ResponseFirewall[],
  { evaluation, report, holdBackChars }: ReplyInspectionOptions,
): JoinedTexts {
  let kind: TextKind | undefined
  /** The end of what came before the last change between the two. */
  let before = ''
  let after = ''

  async function addText(type: TextKind, text: string): Promise<void> {
    if (kind !== undefined && type !== kind) {
      before = (before + after).slice(-holdBackChars)
      after = ''
    }
    kind = type
    after += text
    if (before !== '') {
      const request = toReplyRequest([
        { type: 'text', text: before },
        { type: 'refusal', text: after },
      ])
      // Each set looks at what is sent: masks can only be refused here.
      const walk = new RuleWalk(evaluation, report.addOutcome, true)
      for (const firewall of firewalls) await walk.visit(firewall, request)
    }
    if (after.length <= 2 * holdBackChars) return
    after = after.slice(-holdBackChars)
    before = ''
  }

  return {
    async add(parts) {
      for (const part of parts)
        if ((part.type === 'text' || part.type === 'refusal') && part.text !== '')
          await addText(part.type, part.text)
    },
  }
}

/** Longer arguments are refused: they are inspected whole, and until then held in memory. */
const MAX_ARGUMENTS_LENGTH = 1_000_000

interface HeldCalls {
  start(call: RepliedCall['start']): void
  add(index: number, json: string): void
  /** Inspects the calls so far, and returns their arguments. */
  release(): Promise<readonly ReplyPart[]>
}

/** Holds the arguments of tool calls back until they are complete, because they are inspected as JSON. */
function createHeldCalls(inspect: InspectPart): HeldCalls {
  const calls = new Map<number, RepliedCall>()
  let length = 0
  return {
    start(start) {
      calls.set(start.index, { start, json: '' })
    },
    add(index, json) {
      const call = calls.get(index)
      if (call === undefined) return
      length += json.length
      if (length > MAX_ARGUMENTS_LENGTH) throw argumentsTooLongError()
      calls.set(index, { ...call, json: call.json + json })
    },
    async release() {
      const held = [...calls.values()].filter(({ json }) => json !== '')
      if (held.length === 0) return []
      for (const { start } of held) calls.set(start.index, { start, json: '' })
      const {
        messages: [message],
      } = await inspect(toCallsRequest(held))
      return held.map(({ start: { index } }, position) => ({
        type: 'tool-json',
        index,
        json: argumentsOf(message, position),
      }))
    },
  }
}

function argumentsTooLongError(): GatewayError {
  const message =
    `The arguments of the reply's tool calls are longer than ${MAX_ARGUMENTS_LENGTH} characters, so ` +
    'firewall rules with the scope response cannot inspect them.'
  return firewallError('firewall_timeout', message)
}
