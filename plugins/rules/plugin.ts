import type { Plugin } from '../../core/contract/index.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { batchPaths } from '../openapi/batch.ts'
import { parseBatch, type RuleCommandSet } from './batch.ts'
import { requestAuthor } from './endpoints.ts'
import { executeRuleChanges, type RuleServices } from './rule-commands.ts'

/** What concerns both kinds of rules at once: `POST /v1/rules/batch`, several changes that happen together or not at all. */
export function createRules(desks: RuleCommandSet, services: RuleServices): Plugin {
  return {
    name: 'rules',
    after: ['auth', 'plan'],
    applies: 'management',
    setup: () => ({
      openapi: batchPaths,
      routes(router) {
        router.post('/v1/rules/batch', async (ctx) => {
          const { userId } = ctx.account
          const changes = parseBatch(jsonBody(ctx), desks, userId)
          const outcomes = await executeRuleChanges(changes, services, userId, requestAuthor(ctx))
          ctx.body = {
            data: outcomes.map((outcome) => (outcome.type === 'rule' ? outcome.shown : { success: true })),
          }
        })
      },
    }),
  }
}
