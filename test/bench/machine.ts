import os from 'node:os'

/** Describes the machine and its load before the run. */
export function describeMachine(): string {
  const cpus = os.cpus()
  const memory = (os.totalmem() / 2 ** 30).toFixed(0)
  const [minute = 0] = os.loadavg()
  return `${cpus.length} × ${cpus[0]?.model.trim() ?? 'CPU'}, ${memory} GiB, ${os.type()} ${os.release()}, Node ${process.version}, load average before: ${minute.toFixed(2)}`
}
