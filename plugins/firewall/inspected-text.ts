import { PatternLimitError } from '../../core/pcre/pattern-run.ts'
import type { CooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { BeginningSearch } from './beginnings.ts'
import type { CompiledFirewall } from './compile.ts'
import { RuleStage, type StageLimits } from './rule-stage.ts'
import { isHighSurrogate } from './window.ts'

/** Rules of one owner with the scope `response`, ready to inspect replies. */
export interface ResponseFirewall extends CompiledFirewall {
  readonly beginnings: BeginningSearch
}

/** A text of a stream that passes the stages of all rules in turn. */
export class InspectedText {
  readonly #stages: readonly RuleStage[]
  readonly #beginnings: BeginningSearch
  readonly #limits: StageLimits
  readonly #slice: CooperativeYield
  /** The first half of a character whose second half has not arrived. */
  #half = ''

  constructor({ rules, beginnings }: ResponseFirewall, limits: StageLimits, slice: CooperativeYield) {
    this.#stages = rules.map((rule) => new RuleStage(rule, limits))
    this.#beginnings = beginnings
    this.#limits = limits
    this.#slice = slice
  }

  /** Adds text, and returns the text to send; see `RuleStage.push`. */
  async push(added: string, isPause: boolean): Promise<string> {
    let text = this.#half + added
    const isCut = !isPause && isHighSurrogate(text.charCodeAt(text.length - 1))
    this.#half = isCut ? text.slice(-1) : ''
    if (isCut) text = text.slice(0, -1)
    let searched: string | undefined
    let found: ReadonlySet<number> | undefined
    if (this.#slice.isDue()) await this.#slice.yieldNow()
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
