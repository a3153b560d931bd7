import { type Static, StringEnum, Type } from '../../core/contract/index.ts'
import {
  createFold,
  defineEvent,
  type EventOf,
  Id,
  streamCategory,
  Time,
} from '../../core/events/define-event.ts'

/** Programs that somebody has signed in, in a stream per sign-in: of two processes, one completes it. */
export const grantStream = streamCategory('grant-', 'grantId')

/** Which program: Claude Code, which calls as a user, or `signalbox`, which calls as an operator. */
export const GRANT_CLIENTS = ['claude_code', 'cli'] as const

export type GrantClient = (typeof GRANT_CLIENTS)[number]

/** Who approved a sign-in: root, an operator, the holder of a key, or somebody of an identity provider. */
const holder = Type.Object({
  type: StringEnum(['root', 'operator', 'user', 'identity']),
  /** Of an operator or an API key; of a subject, the id of its user. */
  id: Type.String(),
  issuer: Type.Optional(Type.String()),
  subject: Type.Optional(Type.String()),
})

export type GrantHolder = Readonly<Static<typeof holder>>

/** What somebody has allowed a program. */
export interface Grant {
  readonly id: string
  readonly client: GrantClient
  readonly holder: GrantHolder
  readonly expiresAtMs: number
  /** The first token was issued. */
  readonly isCompleted: boolean
  readonly revision: number
}

const accessed = <const Change extends string>(change: Change) => ({ kind: 'access', change }) as const

export const grantEvents = [
  defineEvent({
    type: 'SignInApproved',
    schema: Type.Object({
      grantId: Type.String(),
      client: StringEnum(GRANT_CLIENTS),
      holder,
      userId: Type.Optional(Id),
      expiresAt: Time,
    }),
    stream: grantStream,
    audit: accessed('device_approved'),
    create: ({ grantId: id, client, holder, expiresAt }): Grant => ({
      ...{ id, client, holder, expiresAtMs: Date.parse(expiresAt), isCompleted: false, revision: 0 },
    }),
  }),
  /** The program has its first token. */
  defineEvent({
    type: 'SignInCompleted',
    schema: Type.Object({ grantId: Type.String() }),
    stream: grantStream,
    audit: accessed('device_signed_in'),
    fold: (grant: Grant) => ({ ...grant, isCompleted: true, revision: grant.revision + 1 }),
  }),
  /** From now on, no token of the sign-in is accepted. */
  defineEvent({
    type: 'SignInRevoked',
    schema: Type.Object({
      grantId: Type.String(),
      /** `reused`: a refresh token came back that another one had replaced. */
      cause: StringEnum(['signed_out', 'reused', 'refused_by_provider']),
    }),
    stream: grantStream,
    isUrgent: true,
    audit: accessed('device_signed_out'),
    fold: () => undefined,
  }),
] as const

export type GrantEvent = EventOf<typeof grantEvents>

export const foldGrant = createFold<GrantEvent, Grant>(grantEvents)
