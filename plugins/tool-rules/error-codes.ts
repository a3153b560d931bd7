import { type ErrorDefinition, errorsOf } from '../../core/contract/index.ts'

const refused = { status: 403, type: 'permission_error', of: 'inference' } as const

/** The codes of calls that tool rules refuse, in replies of models and at the gateway for tools. */
export const TOOL_RULE_ERROR_CODES = {
  tool_denied: { ...refused, description: 'A rule denies the call of the tool.' },
  approval_required: {
    ...refused,
    description: 'An operator must approve the call of the tool; approval_id names the approval.',
  },
  approval_denied: { ...refused, description: 'The approval of the call of the tool was denied.' },
} satisfies Readonly<Record<string, ErrorDefinition>>

export const toolRuleError = errorsOf(TOOL_RULE_ERROR_CODES)
