import { KINDS } from './cast.ts'
import { checkAudits } from './checks/audit.ts'
import type { Check } from './checks/check.ts'
import { checkCoverage, checkEffects } from './checks/effects.ts'
import { checkLevels } from './checks/levels.ts'
import { checkLog } from './checks/log-lines.ts'
import { verifyLog } from './checks/log-verify.ts'
import { compareStates, readState } from './checks/restart.ts'
import { checkRules } from './checks/rules.ts'
import { checkStored } from './checks/stored.ts'
import type { Scene } from './scene.ts'
import type { Soaked } from './soak.ts'

/** Runs all final checks. The gateway is stopped afterwards. */
export async function checkAll(scene: Scene, soaked: Soaked): Promise<readonly Check[]> {
  const { world, actors, start, end } = soaked
  const ledgers = actors.all.flatMap((actor) => actor.ledgers)
  const keys = [...ledgers.map(({ key }) => key), ...world.people.map(({ key }) => key)]
  await soaked.connect()
  const audits = await checkAudits(world.client, ledgers)
  const rules = await checkRules(world.client, actors.writers)
  const before = await readState(world.client, keys)
  await soaked.disconnect()
  const stopped = await stop(scene)

  await scene.start()
  await soaked.connect()
  const restart = compareStates(before, await readState(world.client, keys))
  const stored = await checkStored(world.client, world.stored)
  await soaked.disconnect()
  const stoppedAgain = await stop(scene)
  await scene.log.read()
  return [
    checkEffects(world.tally),
    checkCoverage(KINDS, world.tally),
    checkLog(scene.log, world.tally),
    ...checkLevels(start, end),
    audits,
    rules,
    stored,
    restart,
    await verifyLog(scene.dataDir),
    { name: 'it stops when asked', found: 'exit code 0', faults: [...stopped, ...stoppedAgain] },
  ]
}

async function stop(scene: Scene): Promise<readonly string[]> {
  if (scene.gateway().hasEnded()) return ['the gateway had ended before it was asked to']
  const code = await scene.gateway().stop()
  return code === 0 ? [] : [`the exit code was ${code}`]
}
