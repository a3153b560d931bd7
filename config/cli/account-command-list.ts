import type { Command } from './command.ts'
import { JSON_OUTPUT, REASON, TARGET } from './shared-options.ts'

const USER = 'USER is the id of the user, as shown by "signalbox users list".'
const ONCE = 'The key cannot be shown again.'
const CHANGE = { ...REASON, ...TARGET }
const LISTING = { ...JSON_OUTPUT, ...TARGET }
const EXPIRES = { value: 'TIME', summary: 'When the key expires, such as 2099-12-31T00:00:00Z.' }
const OVERLAP = {
  overlap: { value: 'SECONDS', summary: 'How long the replaced key stays valid. Default: 0.' },
}

/** The commands about users, keys, operators and budgets, in the order of the help. */
export const ACCOUNT_COMMANDS: readonly Command[] = [
  {
    name: 'users add',
    summary: 'Create a user with an API key.',
    details: `Prints the user and the key as a line of JSON. ${ONCE}`,
    options: {
      name: { value: 'NAME', summary: 'Name of the user.', isRequired: true },
      plan: { value: 'PLAN', summary: 'Plan of the user: free or paid.', isRequired: true },
      ...CHANGE,
    },
    async run(args) {
      const { addUser } = await import('./account-commands.ts')
      return addUser(args)
    },
  },
  {
    name: 'users list',
    summary: 'List all users.',
    options: LISTING,
    async run(args) {
      const { printUsers } = await import('./account-commands.ts')
      return printUsers(args)
    },
  },
  {
    name: 'users plan',
    operands: ['USER', 'PLAN'],
    summary: 'Change the plan of a user.',
    details: `${USER} PLAN is free or paid.`,
    options: CHANGE,
    async run(args) {
      const { changePlan } = await import('./account-commands.ts')
      return changePlan(args)
    },
  },
  {
    name: 'keys list',
    operands: ['[USER]'],
    summary: 'List the API keys of one or all users.',
    details: USER,
    options: { all: { summary: 'Also keys that are revoked or have expired.' }, ...LISTING },
    async run(args) {
      const { printKeys } = await import('./account-commands.ts')
      return printKeys(args)
    },
  },
  {
    name: 'keys add',
    operands: ['USER'],
    summary: 'Issue another API key for a user.',
    details: `${USER} Prints the id and the key as a line of JSON. ${ONCE}`,
    options: {
      name: { value: 'NAME', summary: 'Name of the key.' },
      expires: EXPIRES,
      ...CHANGE,
    },
    async run(args) {
      const { addKey } = await import('./account-commands.ts')
      return addKey(args)
    },
  },
  {
    name: 'keys rotate',
    operands: ['KEY'],
    summary: 'Replace an API key by a new one with the same restrictions and budget.',
    details: `KEY is the id of the key, as shown by "signalbox keys list". Prints the new one. ${ONCE}`,
    options: { ...OVERLAP, ...CHANGE },
    async run(args) {
      const { rotateKey } = await import('./account-commands.ts')
      return rotateKey(args)
    },
  },
  {
    name: 'keys revoke',
    operands: ['KEY'],
    summary: 'Revoke an API key.',
    details: 'KEY is the id of the key, such as key_6dpGy9dqA3FxMgi8WZLNMjg5, not the key itself.',
    options: CHANGE,
    async run(args) {
      const { revokeKey } = await import('./account-commands.ts')
      return revokeKey(args)
    },
  },
  {
    name: 'operators list',
    summary: 'List all operators.',
    options: LISTING,
    async run(args) {
      const { printOperators } = await import('./account-commands.ts')
      return printOperators(args)
    },
  },
  {
    name: 'operators add',
    summary: 'Create an operator with a key.',
    details: `Prints the operator and the key as a line of JSON. ${ONCE}`,
    options: {
      name: { value: 'NAME', summary: 'Name of the operator.', isRequired: true },
      role: { value: 'ROLE', summary: 'auditor, editor or admin.', isRequired: true },
      groups: { value: 'GROUPS', summary: 'Ids of the groups that the operator is confined to: 3,8.' },
      expires: EXPIRES,
      ...CHANGE,
    },
    async run(args) {
      const { addOperator } = await import('./account-commands.ts')
      return addOperator(args)
    },
  },
  {
    name: 'operators rotate',
    operands: ['OPERATOR'],
    summary: 'Replace the key of an operator.',
    details: `OPERATOR is an id, as shown by "signalbox operators list". Prints the new key as JSON. ${ONCE}`,
    options: { ...OVERLAP, ...CHANGE },
    async run(args) {
      const { rotateOperatorKey } = await import('./account-commands.ts')
      return rotateOperatorKey(args)
    },
  },
  {
    name: 'operators remove',
    operands: ['OPERATOR'],
    summary: 'Remove an operator, whose key is invalid immediately.',
    details: 'OPERATOR is an id, as shown by "signalbox operators list".',
    options: CHANGE,
    async run(args) {
      const { removeOperator } = await import('./account-commands.ts')
      return removeOperator(args)
    },
  },
  {
    name: 'budgets list',
    summary: 'List all budgets, and what is left of them.',
    options: LISTING,
    async run(args) {
      const { printBudgets } = await import('./budget-commands.ts')
      return printBudgets(args)
    },
  },
  {
    name: 'budgets set',
    operands: ['OWNER'],
    summary: 'Set a budget, or change one.',
    details:
      'OWNER is user:7, group:3, key:key_6dpGy9dqA3FxMgi8WZLNMjg5, shadow, or all for everything together.',
    options: {
      limit: { value: 'USD', summary: 'US dollars that may be spent in a period.', isRequired: true },
      period: { value: 'PERIOD', summary: 'day, week, month (default) or total.' },
      'on-exceed': {
        value: 'REACTION',
        summary: 'refuse (default), or downgrade: automatic choices take the mode cost.',
      },
      'warn-ratio': { value: 'SHARE', summary: 'Share of the limit from which answers have a warning: 0.8.' },
      ...CHANGE,
    },
    async run(args) {
      const { setBudget } = await import('./budget-commands.ts')
      return setBudget(args)
    },
  },
  {
    name: 'budgets remove',
    operands: ['OWNER'],
    summary: 'Remove a budget.',
    details: 'OWNER is as shown by "signalbox budgets list".',
    options: CHANGE,
    async run(args) {
      const { removeBudget } = await import('./budget-commands.ts')
      return removeBudget(args)
    },
  },
]
