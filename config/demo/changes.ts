import type { JsonObject } from '../../core/contract/index.ts'
import type { RulesFile } from '../../plugins/rules-file/schemas.ts'

/** Returns what a user, or everybody, has spent so far: in the current month, or at all. */
export type SpentUsd = (period: 'month' | 'all', user?: string) => number

/** A change that somebody makes at a time, given as a share of the period. */
export interface DemoChange {
  readonly at: number
  /** The name of an operator, or of a user, who changes their own rules with their first key. */
  readonly by: string
  readonly reason?: string
  /** What is changed. Limits of budgets depend on what was spent. */
  readonly file?: RulesFile | ((spentUsd: SpentUsd) => RulesFile)
  readonly rotate?: { readonly user: string; readonly key: string }
  /** A tool server that is created, or asked for its tools again, and the tools that are decided about. */
  readonly tools?: {
    readonly server: string
    readonly isUpdated?: true
    readonly approve?: readonly string[]
    readonly reject?: readonly string[]
  }
}

const firewall = (name: string, type: string, pattern: string, action: string, more: object = {}) => ({
  ...{ name, is_enabled: true, priority: 0, scope: 'prompt', type, pattern, action, ...more },
})

const routing = (name: string, match_json: object, action_json: object) => ({
  ...{ name, is_enabled: true, priority: 0, match_json, action_json },
})

const IBAN = firewall('IBAN', 'preset', 'iban', 'mask', { replacement: '[iban]' })
const card = (action: string) => firewall('Payment cards', 'preset', 'card_number', action, { priority: 10 })
const email = (action: string) => firewall('E-mail addresses', 'preset', 'email', action)

const everyone = { applies_to: { everyone: true } } as const
const personalData = (...firewall_rules: JsonObject[]): RulesFile => ({
  policies: [{ name: 'Personal data', is_enabled: true, priority: 100, ...everyone, firewall_rules }],
})

const falcon = (is_enabled: boolean, groups: string[]): RulesFile => ({
  policies: [
    {
      ...{ name: 'Confidential projects', is_enabled, priority: 80, applies_to: { groups } },
      firewall_rules: [
        firewall('Project Falcon', 'substring', 'Project Falcon', 'block'),
        firewall('Project Heron', 'substring', 'Project Heron', 'block'),
      ],
    },
  ],
})

/** A limit in whole dollars that leaves room for what single requests reserve, also after a quiet day. */
const limit = (usd: number) => Math.max(20, Math.ceil(usd))

const HALVES = [
  { model: 'gpt-5-nano', weight: 50 },
  { model: 'gpt-5.4-mini', weight: 50 },
]

/** All changes of rules, in the order of their times. */
export const DEMO_CHANGES: readonly DemoChange[] = [
  {
    at: 0,
    by: 'Ines Marques',
    reason: 'Teams as in the directory',
    file: {
      groups: [
        { name: 'Support', members: ['support-desk'] },
        { name: 'Engineering', members: ['Noor Haddad', 'Mateusz Zieliński', 'catalogue-import'] },
        { name: 'Research', members: ['Sofia Rossi'] },
      ],
    },
  },
  { at: 0.04, by: 'Ines Marques', reason: 'DPO-12: no bank details leave', file: personalData(IBAN) },
  {
    at: 0.1,
    by: 'Tom Okafor',
    reason: 'DPO-14: cards and addresses, as a trial',
    file: personalData(IBAN, card('warn'), email('warn')),
  },
  {
    at: 0.16,
    by: 'Noor Haddad',
    file: {
      users: [
        {
          user: 'Noor Haddad',
          routing_rules: [routing('Reviews get the best', { contains: 'review' }, { set_mode: 'quality' })],
        },
      ],
    },
  },
  {
    at: 0.2,
    by: 'Ines Marques',
    reason: 'INC-301: an access key was pasted into a prompt',
    file: {
      policies: [
        {
          ...{ name: 'Credentials', is_enabled: true, priority: 200, ...everyone },
          firewall_rules: [firewall('AWS access keys', 'regex', '\\bAKIA[0-9A-Z]{16}\\b', 'block')],
        },
      ],
    },
  },
  {
    at: 0.26,
    by: 'Ines Marques',
    reason: 'Legal starts its pilot',
    file: { groups: [{ name: 'Legal', members: ['contract-review'] }] },
  },
  {
    at: 0.3,
    by: 'Tom Okafor',
    reason: 'OPS-94: is the small model good enough for support?',
    file: {
      policies: [
        {
          ...{ name: 'Trial of a small model', is_enabled: true, priority: 5 },
          applies_to: { groups: ['Support'] },
          routing_rules: [routing('Halves', {}, { split: HALVES })],
        },
      ],
    },
  },
  {
    at: 0.34,
    by: 'Tom Okafor',
    reason: 'DPO-14: the trial found no false positives for cards',
    file: personalData(IBAN, card('block'), email('warn')),
  },
  {
    at: 0.4,
    by: 'Tom Okafor',
    reason: 'OPS-88: spend of batches',
    file: {
      policies: [
        {
          ...{ name: 'Batches stay cheap', is_enabled: true, priority: 10 },
          applies_to: { groups: ['Engineering'] },
          routing_rules: [routing('Classification', { task: 'classify' }, { set_mode: 'cost' })],
        },
      ],
    },
  },
  { at: 0.48, by: 'Ines Marques', reason: 'SEC-77: launch', file: falcon(true, ['Research', 'Support']) },
  {
    at: 0.52,
    by: 'Tom Okafor',
    reason: 'INC-317: blocks the work of the research team',
    file: falcon(false, ['Research', 'Support']),
  },
  {
    at: 0.56,
    by: 'Tom Okafor',
    reason: 'Yearly rotation',
    rotate: { user: 'support-desk', key: 'production' },
  },
  {
    at: 0.6,
    by: 'Ines Marques',
    reason: 'SEC-77: all but research',
    file: falcon(true, ['Support', 'Legal']),
  },
  {
    at: 0.66,
    by: 'Tom Okafor',
    reason: 'LEG-5: contracts need the best models',
    file: {
      policies: [
        {
          ...{
            name: 'Contracts get the best',
            is_enabled: true,
            priority: 50,
            applies_to: { groups: ['Legal'] },
          },
          routing_rules: [routing('Contracts', { contains: 'contract' }, { set_mode: 'quality' })],
        },
      ],
    },
  },
  {
    at: 0.74,
    by: 'Tom Okafor',
    reason: 'DPO-19: addresses are masked from now on',
    file: personalData(IBAN, card('block'), email('mask')),
  },
  {
    at: 0.8,
    by: 'Mateusz Zieliński',
    file: {
      users: [
        {
          user: 'Mateusz Zieliński',
          routing_rules: [routing('Code goes to Anthropic', { task: 'code' }, { set_provider: 'anthropic' })],
        },
      ],
    },
  },
  {
    at: 0.86,
    by: 'Ines Marques',
    reason: 'Budgets of the quarter',
    file: (spentUsd) => ({
      budgets: {
        overall: { limit_usd: limit(spentUsd('all') * 2), period: 'month', on_exceed: 'refuse' },
        users: [
          {
            user: 'Noor Haddad',
            budget: {
              ...{ limit_usd: limit(spentUsd('month', 'Noor Haddad') * 1.3), period: 'month' },
              ...{ warn_ratio: 0.8, on_exceed: 'downgrade' },
            },
          },
        ],
        groups: [
          {
            group: 'Legal',
            budget: {
              limit_usd: limit(spentUsd('all', 'contract-review') * 2),
              period: 'month',
              on_exceed: 'refuse',
            },
          },
        ],
      },
    }),
  },
]
