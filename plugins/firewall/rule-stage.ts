import { PatternLimitError, type PatternRun } from '../../core/patterns/pattern-run.ts'
import {
  hasGroups,
  maxMaskedLengthOf,
  type PatternMatch,
  replacementLength,
  type ScanResult,
} from '../../core/pcre/pattern.ts'
import type { CompiledFirewallRule } from './compile.ts'
import { isOwnText, mayBecomeOwnText } from './mask.ts'
import { refuseBy } from './refusal.ts'
import type { ReplyReport } from './reply-report.ts'
import { findWindowEnd } from './window.ts'

/** The limits of the inspection of one reply. */
export interface StageLimits {
  readonly run: PatternRun
  /** CPU time for each million characters that are scanned, in milliseconds. */
  readonly cpuMs: number
  /** Maximum number of characters that are held back because they could become a match. */
  readonly holdBackChars: number
  readonly report: ReplyReport
}

/** What masks have done to a text. */
export interface StageMasking {
  /** The first rule that has changed it in this pass. */
  maskedBy: CompiledFirewallRule | undefined
  /** Whether the rules have looked at the text in an earlier pass. */
  readonly isAgain: boolean
  /** The last texts that masks wrote whose replacement refers to groups, in all passes. */
  readonly written: Map<CompiledFirewallRule, readonly string[]>
}

/** How many of these texts are kept of a rule. A stage holds few of them. */
const MAX_WRITTEN = 16

/** What looks behind sees this many characters; word boundaries and line starts see one. */
const CONTEXT_LENGTH = { backtracking: 1000, re2: 2 }

/** A rule recognises what it wrote itself up to this length, if its replacement refers to groups. */
const MAX_OWN_LENGTH = 1000

/** A match that keeps growing is held back up to this length, because it will be masked. */
const MAX_GROWING_LENGTH = 65_536

/** Held text up to this length is scanned again with every chunk. */
const MAX_EAGER_LENGTH = 256

/**
 * One rule, applied to one text of a streamed reply. It holds back what could still become a match, and
 * passes on the rest to the stage of the next rule. See docs/decisions/firewall.md, "A stream is held back
 * where a match is open".
 */
export class RuleStage {
  readonly #compiled: CompiledFirewallRule
  readonly #limits: StageLimits
  readonly #contextLength: number
  readonly #masking: StageMasking
  /** The text before what is held. */
  #context = ''
  #held = ''
  /** How much of the held text was passed on already, because another kind of output followed it. */
  #sentLength = 0
  /** The held text is scanned again from this length on. */
  #nextScanLength = 0
  #receivedLength = 0
  #maskedLength = 0
  /** The rule has nothing more to say about this text. */
  #isDone = false

  constructor(compiled: CompiledFirewallRule, limits: StageLimits, masking: StageMasking) {
    this.#compiled = compiled
    this.#limits = limits
    this.#masking = masking
    // What the rule wrote itself is recognised by what stands in front of the match.
    const ownLength = hasGroups(compiled.replacement)
      ? MAX_OWN_LENGTH
      : replacementLength(compiled.replacement)
    this.#contextLength = Math.max(CONTEXT_LENGTH[compiled.pattern.engine], masking.isAgain ? ownLength : 0)
  }

  /** Begins behind text that was passed on before. */
  begin(sent: string): void {
    this.#held = sent
    this.#sentLength = sent.length
  }

  /** Nothing is held: text without a beginning of a match can be skipped. */
  get isIdle(): boolean {
    return this.#held === '' && !this.#isDone
  }

  /** Adds text that is passed on as it is. */
  skip(text: string): void {
    this.#receivedLength += text.length
    const isEnough = text.length >= this.#contextLength
    this.#context = (isEnough ? text : this.#context + text).slice(-this.#contextLength)
  }

  /**
   * Adds text, and returns the text to pass on. `isPause`: nothing may be held back, because the text ends or
   * is interrupted. Throws the refusal of a rule that blocks.
   */
  async push(text: string, isPause: boolean): Promise<string> {
    if (this.#isDone) return text
    this.#held += text
    this.#receivedLength += text.length
    if (!isPause && this.#held.length < this.#nextScanLength) return this.#deferScan(text)
    let output = ''
    // A pattern may match the empty end of a text.
    while (this.#held !== '' || (isPause && this.#compiled.rule.action !== 'mask')) {
      const scanned = await this.#scan()
      if (scanned === undefined) return output + this.#passRest()
      const { action } = this.#compiled.rule
      const step = action === 'mask' ? this.#mask(scanned, isPause) : this.#look(scanned, isPause)
      output += step.output
      if (!step.isAgain) break
    }
    return output
  }

  /** A rule that warns holds nothing back. */
  #deferScan(text: string): string {
    if (this.#compiled.rule.action !== 'warn') return ''
    this.#sentLength = this.#held.length
    return text
  }

  /** Undefined if the pattern did not finish, and the rule is ignored from then on. */
  async #scan(): Promise<ScanResult | undefined> {
    const { run, cpuMs, report } = this.#limits
    const { pattern, rule, replacement } = this.#compiled
    const text = this.#context + this.#held
    run.addCpuMs((cpuMs * text.length) / 1_000_000)
    const from = this.#context.length
    try {
      return await pattern.scan(
        { text, from, replacement: rule.action === 'mask' ? replacement : undefined },
        run,
      )
    } catch (error) {
      if (!(error instanceof PatternLimitError)) throw error
      report.addUnfinished(this.#compiled)
      return undefined
    }
  }

  #look({ matches: [match], openFrom, openMatch }: ScanResult, isPause: boolean): StageStep {
    const { rule } = this.#compiled
    const { holdBackChars, report } = this.#limits
    const end = this.#context.length + this.#held.length
    const isFull = end - openFrom > holdBackChars
    if (match !== undefined || (openMatch !== undefined && (isPause || isFull))) {
      report.addApplied(this.#compiled)
      if (rule.action === 'block') report.refuse(refuseBy(this.#compiled, 'blocked'))
      return { output: this.#passRest(), isAgain: false }
    }
    const keptFrom = isFull && !isPause ? this.#windowEnd() : openFrom
    // A rule that warns changes nothing, so nothing waits for it.
    return this.#pass('', this.#context.length, isPause || rule.action === 'warn' ? end : keptFrom, keptFrom)
  }

  #mask({ matches, openFrom, openMatch }: ScanResult, isPause: boolean): StageStep {
    const { holdBackChars, report } = this.#limits
    const end = this.#context.length + this.#held.length
    let output = ''
    let position = this.#context.length
    for (const match of matches) {
      if (this.#isOwnText(match)) {
        output += this.#unsent(position, match.end)
      } else {
        if (!isPause && this.#mayBecomeOwnText(match))
          return this.#pass(output, position, match.start, match.start)
        output += this.#replace(position, match)
      }
      position = match.end
    }
    const heldLength = end - openFrom
    if (!isPause && heldLength <= holdBackChars) return this.#pass(output, position, openFrom, openFrom)
    if (openMatch === undefined) {
      const keptFrom = isPause ? openFrom : this.#windowEnd()
      return this.#pass(output, position, isPause ? end : keptFrom, keptFrom)
    }
    if (isPause || openMatch.end < end) {
      if (this.#isOwnText(openMatch)) output += this.#unsent(position, openMatch.end)
      else output += this.#replace(position, openMatch)
      return { ...this.#pass(output, openMatch.end, openMatch.end, openMatch.end), isAgain: true }
    }
    if (heldLength > MAX_GROWING_LENGTH) report.refuse(refuseBy(this.#compiled, 'match_too_long'))
    return this.#pass(output, position, openFrom, openFrom)
  }

  /** Whether the rule wrote the match itself, in an earlier pass, or it was passed on then. */
  #isOwnText(match: PatternMatch): boolean {
    if (!this.#masking.isAgain) return false
    return (
      match.end <= this.#context.length + this.#sentLength ||
      isOwnText(this.#context + this.#held, match, this.#written)
    )
  }

  /** Whether what follows may show that the rule wrote the match itself. */
  #mayBecomeOwnText(match: PatternMatch): boolean {
    return this.#masking.isAgain && mayBecomeOwnText(this.#context + this.#held, match, this.#written)
  }

  get #written(): readonly string[] {
    return this.#masking.written.get(this.#compiled) ?? []
  }

  /** What is passed on for a match and the text in front of it. */
  #replace(position: number, { start, end, replacement }: PatternMatch): string {
    const { report } = this.#limits
    report.addApplied(this.#compiled)
    if ((this.#context + this.#held).slice(start, end) !== replacement)
      this.#masking.maskedBy ??= this.#compiled
    if (hasGroups(this.#compiled.replacement))
      this.#masking.written.set(this.#compiled, [replacement, ...this.#written].slice(0, MAX_WRITTEN))
    this.#maskedLength += replacement.length - (end - start)
    if (this.#receivedLength + this.#maskedLength > maxMaskedLengthOf(this.#receivedLength))
      report.addUnfinished(this.#compiled)
    return this.#unsent(position, start) + replacement
  }

  #unsent(from: number, to: number): string {
    const sentTo = this.#context.length + this.#sentLength
    return (this.#context + this.#held).slice(Math.max(from, sentTo), Math.max(to, sentTo))
  }

  /** Passes on the text up to `to`, and keeps what begins at `keptFrom`. */
  #pass(output: string, from: number, to: number, keptFrom: number): StageStep {
    const passed = output + this.#unsent(from, to)
    const text = this.#context + this.#held
    const sentTo = Math.max(this.#context.length + this.#sentLength, to)
    this.#sentLength = Math.max(0, sentTo - keptFrom)
    this.#context = text.slice(Math.max(0, keptFrom - this.#contextLength), keptFrom)
    this.#held = text.slice(keptFrom)
    this.#nextScanLength = this.#nextLength()
    return { output: passed, isAgain: false }
  }

  /** Long text is scanned again once it has grown by an eighth, so that not every chunk costs as much. */
  #nextLength(): number {
    const { length } = this.#held
    if (length <= MAX_EAGER_LENGTH) return 0
    const { holdBackChars } = this.#limits
    const limit = length <= holdBackChars ? holdBackChars : MAX_GROWING_LENGTH
    return Math.min(length + Math.floor(length / 8), limit + 1)
  }

  #passRest(): string {
    this.#isDone = true
    return this.#held.slice(this.#sentLength)
  }

  #windowEnd(): number {
    return findWindowEnd(this.#context + this.#held, this.#limits.holdBackChars)
  }
}

interface StageStep {
  readonly output: string
  /** The rest of the held text must be scanned once more. */
  readonly isAgain: boolean
}
