import type { OperatorRole, Plan } from '../../core/contract/index.ts'
import type { TopicName } from './prompts.ts'

interface DemoOperator {
  readonly name: string
  readonly role: OperatorRole
}

/** Operators, by the names that changes refer to. */
export const DEMO_OPERATORS: readonly [DemoOperator, DemoOperator, ...DemoOperator[]] = [
  { name: 'Ines Marques', role: 'admin' },
  { name: 'Tom Okafor', role: 'editor' },
  { name: 'Lena Brandt', role: 'auditor' },
]

/** A user of the demo: an application or a person. */
export interface DemoUser {
  readonly name: string
  readonly plan: Plan
  readonly keys: readonly [string, ...string[]]
  readonly topic: TopicName
  /** Of all requests. */
  readonly share: number
  /** The models that it asks for, by share. Undefined names: one of the catalogue. */
  readonly models: readonly { readonly share: number; readonly name?: string }[]
  /** An agent works for the user, and names its sessions in this header. */
  readonly sessionHeader?: string
  /** When it is created, as a share of the period. Default: at its begin. */
  readonly from?: number
}

export const DEMO_USERS: readonly [DemoUser, ...DemoUser[]] = [
  {
    name: 'support-desk',
    plan: 'paid',
    keys: ['production', 'staging'],
    topic: 'support',
    share: 38,
    models: [
      { share: 80, name: 'auto:balance' },
      { share: 20, name: 'auto:latency' },
    ],
  },
  {
    name: 'catalogue-import',
    plan: 'paid',
    keys: ['nightly'],
    topic: 'batch',
    share: 24,
    models: [{ share: 85, name: 'auto:cost' }, { share: 15 }],
  },
  {
    name: 'Noor Haddad',
    plan: 'paid',
    keys: ['editor', 'terminal'],
    topic: 'code',
    share: 14,
    models: [{ share: 50, name: 'auto:quality' }, { share: 50 }],
    sessionHeader: 'x-session-id',
  },
  {
    name: 'Mateusz Zieliński',
    plan: 'paid',
    keys: ['editor'],
    topic: 'code',
    share: 9,
    models: [{ share: 70 }, { share: 30, name: 'auto:balance' }],
    sessionHeader: 'session_id',
  },
  {
    name: 'contract-review',
    plan: 'paid',
    keys: ['production'],
    topic: 'legal',
    share: 6,
    models: [{ share: 60, name: 'auto:balance' }, { share: 40 }],
    from: 0.25,
  },
  {
    name: 'Sofia Rossi',
    plan: 'free',
    keys: ['notebook'],
    topic: 'research',
    share: 9,
    models: [{ share: 60, name: 'auto:balance' }, { share: 40 }],
  },
]
