import type { JsonObject, OperatorRole, Plan } from '../../core/contract/index.ts'

/** The setting `identity`, as `config/settings/identity-schema.ts` declares it. */
export interface IdentitySettings {
  readonly callers?: readonly CallerSettings[]
  readonly console?: ConsoleSettings
  readonly claude_code?: ClaudeCodeSettings
}

/** How operators sign in to the console (docs/guides/sign-in.md). */
export interface ConsoleSettings {
  readonly issuer: string
  readonly client_id: string
  readonly scopes?: readonly string[]
  readonly roles: {
    readonly claim: string
    readonly map: Readonly<Record<string, OperatorRole>>
  }
  readonly scope?: {
    readonly claim: string
    /** Names of groups by values of the claim; `*`: everything. */
    readonly map: Readonly<Record<string, string>>
  }
  /** Whether keys are refused on the console. */
  readonly only?: boolean
  /** The address of the gateway for browsers. */
  readonly url?: string
}

/** How Claude Code signs in. */
export interface ClaudeCodeSettings {
  readonly enabled: boolean
  /** File with settings by group. */
  readonly settings?: string
}

/** Whose tokens callers may use in place of API keys. */
export interface CallerSettings {
  readonly issuer: string
  readonly audience: string | readonly string[]
  readonly algorithms?: readonly string[]
  readonly jwks_uri?: string
  readonly user?: {
    readonly id?: string
    readonly name?: string
    readonly plan?: Plan
    readonly create?: boolean
  }
  readonly groups?: {
    readonly claim: string
    readonly map?: Readonly<Record<string, string>>
    readonly create?: boolean
  }
  readonly require?: JsonObject
}
