import { useState } from 'preact/hooks'
import { useData } from '../lib/data.ts'
import type { DraftRule, RuleContent } from '../lib/drafts.ts'
import type { FirewallPreset } from '../lib/schemas.ts'
import { root } from '../lib/session.ts'
import { Dialog } from '../ui/dialogs.tsx'
import { type FieldSpec, type FieldSpecs, Fields, Form, toBody, type Values } from '../ui/fields.tsx'
import { type ModelChoice, useModels } from '../ui/model-picker.tsx'
import { Tabs } from '../ui/page.tsx'
import { JsonField, type PartSpec, type Parts, PartsField } from '../ui/parts.tsx'
import { PatternIssue, PatternTest } from './pattern-test.tsx'
import { ROUTING_CONDITIONS, routingActions } from './routing-parts.tsx'
import { TOOL_CONDITIONS } from './tool-parts.tsx'

interface RuleDialogProps {
  readonly draft: DraftRule
  readonly onDone: (draft: DraftRule) => void
  readonly onClose: () => void
}

type View = 'Form' | 'JSON'

/** Edits a rule. The result is a draft: nothing is saved yet. */
export function RuleDialog({ draft, onDone, onClose }: RuleDialogProps) {
  const [values, setValues] = useState<Values>(draft.content)
  const [view, setView] = useState<View>('Form')
  const isFirewall = draft.kind === 'firewall'
  const own = { routing: RoutingFields, tool: ToolFields, firewall: FirewallFields }
  const OwnFields = own[draft.kind]

  function submit() {
    const body = toBody(COMMON, values)
    if (body === undefined) return
    const replacement = values.action === 'mask' && values.replacement ? values.replacement : null
    const content = { ...values, ...body, ...(isFirewall && { replacement }) } as RuleContent
    onDone({ ...draft, content })
  }

  return (
    <Dialog title={`${draft.stored ? 'Edit' : 'New'} ${draft.kind} rule`} onClose={onClose}>
      <Form onSubmit={submit}>
        {!isFirewall && <Tabs label="View" tabs={['Form', 'JSON']} current={view} onSelect={setView} />}
        <Fields specs={[NAME]} values={values} onChange={setValues} />
        <OwnFields values={values} onChange={setValues} isJson={view === 'JSON'} />
        <Fields specs={[ORDER]} values={values} onChange={setValues} />
        <div class="actions end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Apply
          </button>
        </div>
      </Form>
    </Dialog>
  )
}

const NAME: FieldSpec = { name: 'name', label: 'Name', required: true, maxLength: 255 }

const ORDER: readonly FieldSpec[] = [
  {
    name: 'priority',
    label: 'Priority',
    type: 'number',
    required: true,
    hint: 'Rules with a higher priority come first.',
  },
  { name: 'is_enabled', label: 'Enabled', type: 'check' },
]

/** The fields that need to be converted. */
const COMMON: FieldSpecs = [NAME, ...ORDER]

interface OwnFieldsProps {
  readonly values: Values
  readonly onChange: (values: Values) => void
  readonly isJson: boolean
}

/** An object of a rule, by fields or as JSON. */
function partsOf(field: {
  readonly name: string
  readonly label: string
  readonly noun: string
  readonly empty: string
  readonly isJson: boolean
  readonly specs: readonly PartSpec[]
}): FieldSpec {
  const { name, label, isJson, ...parts } = field
  return {
    name,
    label,
    render: (value, set) =>
      isJson ? (
        <JsonField label={`${label} (${name})`} rows={4} value={value} onChange={set} />
      ) : (
        <PartsField {...parts} label={label} value={value as Parts} onChange={set} />
      ),
  }
}

function RoutingFields({ values, onChange, isJson }: OwnFieldsProps) {
  return <Fields specs={routingFields(useModels(), isJson)} values={values} onChange={onChange} />
}

function routingFields(models: readonly ModelChoice[], isJson: boolean): FieldSpecs {
  return [
    partsOf({
      name: 'match_json',
      label: 'Conditions',
      noun: 'condition',
      empty: 'None: the rule matches every request.',
      isJson,
      specs: ROUTING_CONDITIONS,
    }),
    partsOf({
      name: 'action_json',
      label: 'Actions',
      noun: 'action',
      empty: 'None: the rule does nothing.',
      isJson,
      specs: routingActions(models),
    }),
  ]
}

const TOOL_ACTIONS: FieldSpec = {
  name: 'action',
  label: 'Action',
  options: [
    ['allow', 'allow: the call passes'],
    ['deny', 'deny: the call is refused'],
    ['hide', 'hide: as if there were no such tool'],
    ['require_approval', 'require approval: the call waits for a person'],
    ['warn', 'warn: the call passes with a warning'],
  ],
}

function ToolFields({ values, onChange, isJson }: OwnFieldsProps) {
  const conditions = partsOf({
    name: 'match',
    label: 'Conditions',
    noun: 'condition',
    empty: 'None: the rule matches every call of a tool.',
    isJson,
    specs: TOOL_CONDITIONS,
  })
  return <Fields specs={[conditions, TOOL_ACTIONS]} values={values} onChange={onChange} />
}

function FirewallFields({ values, onChange }: OwnFieldsProps) {
  const presets = useData<readonly FirewallPreset[]>(`${root()}/firewall-presets`).data ?? []
  return (
    <>
      <Fields specs={firewallFields(values, presets)} values={values} onChange={onChange} />
      <PatternTest {...values} />
    </>
  )
}

function firewallFields({ type, pattern, action }: Values, presets: readonly FirewallPreset[]): FieldSpecs {
  const choices: readonly FieldSpec[] = [
    {
      name: 'type',
      label: 'Type',
      options: [
        ['substring', 'text'],
        ['regex', 'pattern (regex)'],
        ['preset', 'preset'],
      ],
      also: (chosen) => ({ pattern: chosen === 'preset' ? (presets[0]?.name ?? '') : '' }),
    },
    {
      name: 'scope',
      label: 'Looks at',
      options: [
        ['prompt', 'prompts'],
        ['response', 'replies'],
        ['tool_call', 'arguments of tool calls'],
        ['tool_result', 'results of tools'],
      ],
    },
    { name: 'action', label: 'Action', options: ['block', 'mask', 'warn'] },
  ]
  const preset: FieldSpec = {
    name: 'pattern',
    label: 'Preset',
    options: presets.map(({ name }) => name),
    hint: presets.find(({ name }) => name === pattern)?.description,
  }
  const own: FieldSpec = {
    name: 'pattern',
    label: 'Pattern',
    mono: true,
    required: true,
    hint: type === 'regex' && <PatternIssue type={type} pattern={pattern} />,
  }
  const replacement: FieldSpec = {
    name: 'replacement',
    label: 'Replacement',
    mono: true,
    hint: 'Empty: the default replacement.',
  }
  return [choices, type === 'preset' ? preset : own, ...(action === 'mask' ? [replacement] : [])]
}
