import {
  type Account,
  type ClientConnection,
  type JsonObject,
  type MaybePromise,
  type RuleOrigin,
  type RuleSet,
  type RuleTraceEntry,
  service,
  type ToolRule,
  type Warning,
} from '../../core/contract/index.ts'

export { TOOL_RULE_ERROR_CODES } from './error-codes.ts'
export { toolRules } from './rule-kind.ts'

/** Who calls tools, with the rules that apply: those of an exchange, or of a session. */
export interface ToolCaller {
  readonly account: Account
  readonly policies: readonly RuleSet[]
  readonly rules: RuleSet
  readonly client: ClientConnection
}

export interface ToolCall {
  readonly server: string
  readonly tool: string
  readonly arguments: JsonObject
  /** Numbers in the arguments that have another value than the one that is parsed, as they are written. */
  readonly inexactNumbers?: readonly string[]
  /** Names of the servers whose results the session has read. */
  readonly read: ReadonlySet<string>
}

export interface ToolVerdict {
  /**
   * The action of the first rule that matches and decides. Undefined: the server's default applies, because
   * no rule decides, or a rule of the user's own allows the call: those open nothing.
   */
  readonly action: Exclude<ToolRule['action'], 'warn'> | undefined
  /**
   * The rule that decided. Undefined with `deny`: the rules could not be evaluated, and a warning says why.
   */
  readonly rule: { readonly id: number; readonly name: string; readonly origin?: RuleOrigin } | undefined
  /** For the record; callers of a hidden tool must see none. */
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
}

/** Evaluates the tool rules of policies and of users. See docs/guides/tool-rules.md. */
export interface ToolRules {
  decide(caller: ToolCaller, call: ToolCall): MaybePromise<ToolVerdict>
  /**
   * Whether lists of tools show the tool: whether some call of it could pass. `byDefault`: whether the server
   * allows tools that no rule decides about.
   */
  isListed(
    caller: ToolCaller,
    tool: Pick<ToolCall, 'server' | 'tool'>,
    byDefault: boolean,
  ): MaybePromise<boolean>
  /** Whether a decision about the tool may depend on its arguments. */
  needsArguments(caller: ToolCaller, call: Omit<ToolCall, 'arguments'>): MaybePromise<boolean>
}

export const ToolRules = service<ToolRules>('tool-rules')
