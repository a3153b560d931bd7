import type { ComponentChildren } from 'preact'
import type { Simulation } from '../lib/schemas.ts'
import { Panel } from '../ui/page.tsx'
import { Trace } from './request.tsx'

interface SimulationOutcomeProps {
  readonly simulation: Pick<Simulation, 'warnings' | 'rule_trace' | 'rules_position'>
  /** What is decided. */
  readonly children: ComponentChildren
}

/** What was decided about a request or a call that is not sent, and by which rules. */
export function SimulationOutcome({ simulation, children }: SimulationOutcomeProps) {
  const { warnings, rule_trace, rules_position } = simulation
  return (
    <output class="grid">
      <Panel title="Outcome">
        {children}
        {warnings.map(({ message }) => (
          <p key={message} class="muted">
            {message}
          </p>
        ))}
        <p class="muted">Rules at position {rules_position}</p>
      </Panel>
      <Trace entries={rule_trace} rules={[]} />
    </output>
  )
}
