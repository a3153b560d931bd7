import { PatternLimitError } from '../../core/patterns/pattern-run.ts'
import type { CooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { BeginningSearch } from './beginnings.ts'
import type { CompiledFirewall } from './compile.ts'
import { refuseBy } from './refusal.ts'
import { RuleStage, type StageLimits, type StageMasking } from './rule-stage.ts'
import { MAX_LOOKS } from './rule-walk.ts'
import { isHighSurrogate } from './window.ts'

/** Rules of one owner with the scope `response`, ready to inspect replies. */
export interface ResponseFirewall extends CompiledFirewall {
  readonly beginnings: BeginningSearch
}

/**
 * A text of a stream that passes the stages of all rules in turn. Once a mask has changed it, it passes them
 * again, and so on. See docs/decisions/firewall.md, "What rules forbid is not sent".
 */
export class InspectedText {
  readonly #firewalls: readonly ResponseFirewall[]
  readonly #limits: StageLimits
  readonly #slice: CooperativeYield
  readonly #passes: Pass[]
  readonly #written: StageMasking['written'] = new Map()
  /** The first half of a character whose second half has not arrived. */
  #half = ''
  /** Whether rules may look at the text again: policies, and others after changes that they did not make. */
  readonly #mayLookAgain: boolean
  /** The end of what was passed on, if rules may look at it again. */
  #sent = ''

  /** `isAgain`: the rules have looked at the text before other plugins changed it. */
  constructor(
    firewalls: readonly ResponseFirewall[],
    limits: StageLimits,
    slice: CooperativeYield,
    isAgain: boolean,
  ) {
    this.#firewalls = firewalls
    this.#limits = limits
    this.#slice = slice
    this.#mayLookAgain = firewalls.length > 1 || firewalls[0]?.isPolicy === true
    this.#passes = [this.#createPass(isAgain ? 'plugins' : undefined)]
  }

  /** Adds text, and returns the text to send; see `RuleStage.push`. */
  async push(added: string, isPause: boolean): Promise<string> {
    let text = this.#half + added
    const isCut = !isPause && isHighSurrogate(text.charCodeAt(text.length - 1))
    this.#half = isCut ? text.slice(-1) : ''
    if (isCut) text = text.slice(0, -1)
    if (this.#slice.isDue()) await this.#slice.yieldNow()
    // The list grows while it is walked.
    for (const pass of this.#passes) {
      text = await pass.push(text, isPause, this.#sent)
      if (pass === this.#passes.at(-1)) this.#addPass(pass)
    }
    if (this.#mayLookAgain) this.#keepSent(text)
    return text
  }

  /** Cuts off the beginning rarely, because that copies the rest. */
  #keepSent(text: string): void {
    const { holdBackChars } = this.#limits
    this.#sent += text
    if (this.#sent.length > 2 * holdBackChars) this.#sent = this.#sent.slice(-holdBackChars)
  }

  #addPass({ masking: { maskedBy } }: Pass): void {
    if (maskedBy === undefined || !this.#mayLookAgain) return
    if (this.#passes.length > MAX_LOOKS) this.#limits.report.refuse(refuseBy(maskedBy, 'unsettled'))
    this.#passes.push(this.#createPass('masks'))
  }

  #createPass(changedBy: Pass['changedBy']): Pass {
    const masking: StageMasking = {
      maskedBy: undefined,
      isAgain: changedBy !== undefined,
      written: this.#written,
    }
    const toStages = (firewall: ResponseFirewall) =>
      new SetStages(firewall, this.#limits, this.#slice, masking)
    return new Pass(this.#firewalls.map(toStages), masking, changedBy)
  }
}

/** One look of all sets of rules at a text. */
class Pass {
  readonly #sets: readonly SetStages[]
  readonly masking: Readonly<StageMasking>
  /** What changed the text since the rules looked at it before; undefined for the first pass. */
  readonly changedBy: 'masks' | 'plugins' | undefined

  constructor(sets: readonly SetStages[], masking: StageMasking, changedBy: Pass['changedBy']) {
    this.#sets = sets
    this.masking = masking
    this.changedBy = changedBy
  }

  /** `sent`: ends with what was passed on before this pass began. */
  async push(added: string, isPause: boolean, sent: string): Promise<string> {
    const hasOnlyMasks = this.changedBy === 'masks'
    let text = added
    for (const set of this.#sets) {
      // Among the rules of a user, the order decides: they look again only at what others changed.
      if (hasOnlyMasks && !set.isPolicy && this.masking.maskedBy === undefined) continue
      text = await set.push(text, isPause, hasOnlyMasks ? sent : '')
      if (text === '' && !isPause) return ''
    }
    return text
  }
}

/** The stages of one owner's rules. */
class SetStages {
  readonly isPolicy: boolean
  readonly #stages: readonly RuleStage[]
  readonly #beginnings: BeginningSearch
  readonly #limits: StageLimits
  readonly #slice: CooperativeYield
  #hasBegun = false

  constructor(
    { rules, beginnings, isPolicy }: ResponseFirewall,
    limits: StageLimits,
    slice: CooperativeYield,
    masking: StageMasking,
  ) {
    this.isPolicy = isPolicy
    this.#stages = rules.map((rule) => new RuleStage(rule, limits, masking))
    this.#beginnings = beginnings
    this.#limits = limits
    this.#slice = slice
  }

  async push(added: string, isPause: boolean, sent: string): Promise<string> {
    if (!this.#hasBegun) this.#begin(sent.slice(-this.#limits.holdBackChars))
    let text = added
    let searched: string | undefined
    let found: ReadonlySet<number> | undefined
    for (const [index, stage] of this.#stages.entries()) {
      if (text === '' && !isPause) return ''
      if (stage.isIdle && text !== searched) {
        found = await this.#findBeginnings(text)
        searched = text
      }
      if (stage.isIdle && found?.has(index) === false) {
        // Most rules have nothing to look at, and asking for the time would take longer.
        stage.skip(text)
        continue
      }
      text = await stage.push(text, isPause)
      if (this.#slice.isDue()) await this.#slice.yieldNow()
    }
    return text
  }

  #begin(sent: string): void {
    for (const stage of this.#stages) stage.begin(sent)
    this.#hasBegun = true
  }

  /** If the search does not finish, every rule looks at the text, and fails closed if it does not finish. */
  async #findBeginnings(text: string): Promise<ReadonlySet<number> | undefined> {
    try {
      return await this.#beginnings.find(text, this.#limits.run)
    } catch (error) {
      if (error instanceof PatternLimitError) return undefined
      throw error
    }
  }
}
