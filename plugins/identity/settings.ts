import type { JsonObject, Plan } from '../../core/contract/index.ts'

/** The setting `identity`, as `config/settings/identity-schema.ts` declares it. */
export interface IdentitySettings {
  readonly callers?: readonly CallerSettings[]
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
