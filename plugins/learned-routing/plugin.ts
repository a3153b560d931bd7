import type { Plugin } from '../../core/contract/index.ts'
import { createRouterEndpoints } from './endpoints.ts'
import { scheduleTraining } from './schedule-training.ts'
import type { RouterServices } from './services.ts'

interface RoutersPluginServices extends RouterServices {
  /** 0: only on demand, or in another process of this node. */
  readonly trainEveryHours: number
  closeTrainer(): Promise<void>
}

/** Serves `/admin/routers`, and trains by schedule. The routing plugin uses what is active. */
export function createRoutersPlugin(services: RoutersPluginServices): Plugin {
  return {
    name: 'routers',
    after: ['routing', 'ledger'],
    setup(_, { logger }) {
      const { trainEveryHours, routers, trainer } = services
      const stop = scheduleTraining(trainEveryHours, routers, trainer, logger)
      return {
        endpoints: createRouterEndpoints(services),
        async close() {
          stop()
          await services.closeTrainer()
        },
      }
    },
  }
}
