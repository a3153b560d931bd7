import { definePlugin, service } from '../../core/contract/index.ts'
import { Ledger } from '../ledger/index.ts'
import { createRouterEndpoints, type RouterServices } from './endpoints.ts'
import { scheduleTraining, type TrainerServices } from './train.ts'

export interface RoutersPluginServices extends Omit<RouterServices, 'trainer'> {
  readonly trainer: Omit<TrainerServices, 'settleLedger'>
  /** 0: only on demand, or in another process of this node. */
  readonly trainEveryHours: number
  closeTrainer(): Promise<void>
}

const Training = service<RoutersPluginServices>('routers.training')

/** Serves `/admin/routers`, and trains by schedule. The routing plugin uses what is active. */
export default definePlugin({
  name: 'routers',
  after: ['routing', 'ledger'],
  uses: { training: Training, ledger: Ledger },
  setup(_, { use: { training, ledger }, logger }) {
    const { trainEveryHours, routers } = training
    const trainer = { ...training.trainer, settleLedger: ledger.settle }
    const stop = scheduleTraining(trainEveryHours, routers, trainer, logger)
    return {
      endpoints: createRouterEndpoints({ ...training, trainer }),
      async close() {
        stop()
        await training.closeTrainer()
      },
    }
  },
})
