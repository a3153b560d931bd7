import { type FieldSpecs, Fields, SelectField, TextField, type Values } from '../ui/fields.tsx'
import { describePrice, type ModelChoice, ModelPicker } from '../ui/model-picker.tsx'
import { LinesField, type PartSpec, RemovePart, RowsField, ValueField } from '../ui/parts.tsx'

const MODES = ['balance', 'cost', 'quality', 'latency'] as const

const modePart = (label: string): PartSpec => ({
  name: 'mode',
  label,
  initial: 'cost',
  render: (value, set) => <SelectField label={label} value={String(value)} options={MODES} onChange={set} />,
})

/** The built-in conditions of routing rules: keys of `match_json`. */
export const ROUTING_CONDITIONS: readonly PartSpec[] = [
  {
    name: 'contains',
    label: 'The prompt contains',
    initial: [],
    render: (value, set) => (
      <LinesField
        label="The prompt contains one of"
        hint="One text in each line. Upper and lower case are the same."
        required
        value={value}
        // A single text is written as one, as in the documentation.
        onChange={(lines) => set([lines].flat().length === 1 ? [lines].flat()[0] : lines)}
      />
    ),
  },
  modePart('Requested mode'),
  {
    name: 'task',
    label: 'Task',
    initial: '',
    render: (value, set) => (
      <TextField
        label="Task"
        hint="What the request says in metadata.task."
        required
        value={String(value)}
        onInput={set}
      />
    ),
  },
  {
    name: 'metadata_equals',
    label: 'Metadata',
    initial: {},
    render: (value, set) => (
      <RowsField<unknown>
        label="Metadata of the request"
        noun="value"
        initial=""
        value={value as Values}
        onChange={set}
        row={(name, expected, change) => (
          <>
            <TextField label="Name" value={name} required onInput={(text) => change(text, expected)} />
            <ValueField label="Is" value={expected} required onChange={(typed) => change(name, typed)} />
          </>
        )}
      />
    ),
  },
]

/** The built-in actions of routing rules, and that of the cache: keys of `action_json`. */
export function routingActions(models: readonly ModelChoice[]): readonly PartSpec[] {
  const providers = [...new Set(models.map(({ provider }) => provider))]
  return [
    {
      name: 'set_model',
      label: 'Use a model',
      initial: '',
      render: (value, set) => (
        <ModelPicker label="Use the model" models={models} value={String(value)} onChange={set} />
      ),
    },
    { ...modePart('Choose automatically, by'), name: 'set_mode', label: 'Choose automatically' },
    {
      name: 'set_provider',
      label: 'Use a provider',
      initial: providers[0] ?? '',
      render: (value, set) => (
        <SelectField
          label="Use the provider"
          hint="The requested model, if the provider offers it, or else its best one for the mode."
          value={String(value)}
          options={[...new Set([...providers, String(value)])]}
          onChange={set}
        />
      ),
    },
    {
      name: 'split',
      label: 'Split between models',
      initial: [
        { model: '', weight: 50 },
        { model: '', weight: 50 },
      ],
      render: (value, set) => <SplitField models={models} value={value as Split} onChange={set} />,
    },
    {
      name: 'shadow',
      label: 'Copy to a model',
      initial: { model: '', sample: 0.1 },
      render: (value, set) => <ShadowField models={models} value={value as Shadow} onChange={set} />,
    },
    {
      name: 'require',
      label: 'Require of the provider',
      initial: { zdr: true },
      render: (value, set) => <RequireFields value={value as Values} onChange={set} />,
    },
    {
      name: 'add_warning',
      label: 'Add a warning',
      initial: '',
      render: (value, set) => (
        <TextField
          label="Warning in the response"
          required
          maxLength={1000}
          value={typeof value === 'string' ? value : String(Object(value).message ?? '')}
          onInput={set}
        />
      ),
    },
  ]
}

interface Arm {
  readonly model: string
  readonly weight: number
}

type Split = readonly Arm[] | { readonly arms: readonly Arm[]; readonly sticky_by?: string }

interface ModelsFieldProps<Value> {
  readonly models: readonly ModelChoice[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}

const STICKINESS = [
  ['', 'end user, conversation or key (default)'],
  ['user', 'end user'],
  ['conversation', 'conversation'],
  ['key', 'API key'],
  ['none', 'nothing: each request is drawn'],
] as const

/** Models with their shares, which are set by sliders. */
function SplitField({ models, value, onChange }: ModelsFieldProps<Split>) {
  const { arms, sticky_by = '' } = 'arms' in value ? value : { arms: value }
  const total = arms.reduce((sum, { weight }) => sum + weight, 0)
  const change = (changed: readonly Arm[], sticky = sticky_by) =>
    onChange(sticky === '' ? changed : { arms: changed, sticky_by: sticky })
  const put = (index: number, arm: Partial<Arm>) =>
    change(arms.map((old, place) => (place === index ? { ...old, ...arm } : old)))
  // Of two models whose weights are percentages, the other one gets the rest.
  const weigh = (index: number, weight: number) =>
    arms.length === 2 && total === 100
      ? change(arms.map((old, place) => ({ ...old, weight: place === index ? weight : 100 - weight })))
      : put(index, { weight })
  return (
    <fieldset class="plain">
      <legend>Split between models</legend>
      {arms.map(({ model, weight }, index) => (
        <div key={index} class="part">
          <div class="row">
            <ModelPicker
              label={`Model ${index + 1}`}
              models={models}
              value={model}
              onChange={(chosen) => put(index, { model: chosen })}
            />
            <ShareField
              label={`Weight of ${model || `model ${index + 1}`}`}
              value={weight}
              max={Math.max(100, ...arms.map((arm) => arm.weight))}
              share={total === 0 ? 0 : weight / total}
              onChange={(changed) => weigh(index, changed)}
            />
          </div>
          {arms.length > 2 && (
            <RemovePart
              label={`Remove the model ${model || index + 1}`}
              onClick={() => change(arms.filter((_, place) => place !== index))}
            />
          )}
        </div>
      ))}
      <button type="button" class="quiet" onClick={() => change([...arms, { model: '', weight: 10 }])}>
        Add a model
      </button>
      <SelectField
        label="The same model always for the same"
        value={sticky_by}
        options={STICKINESS}
        onChange={(chosen) => change(arms, chosen)}
      />
      <p class="muted">{describeCost(arms, models)}</p>
    </fieldset>
  )
}

/** What a million tokens cost on average with these shares. */
function describeCost(arms: readonly Arm[], models: readonly ModelChoice[]): string {
  const total = arms.reduce((sum, { weight }) => sum + weight, 0)
  const prices = arms.map(({ model }) => models.find(({ id }) => id === model)?.price)
  if (total === 0 || prices.some((price) => price === undefined)) return ''
  const mean = (of: 'input' | 'output') =>
    arms.reduce((sum, { weight }, index) => sum + (weight / total) * (prices[index]?.[of] ?? 0), 0)
  const price = { input: mean('input'), output: mean('output') }
  return describePrice({ id: '', provider: 'On average', price })
}

interface ShareFieldProps {
  readonly label: string
  readonly value: number
  readonly max: number
  /** Of the whole, from 0 to 1. */
  readonly share: number
  readonly onChange: (value: number) => void
}

function ShareField({ label, value, max, share, onChange }: ShareFieldProps) {
  const percent = `${(share * 100).toLocaleString(undefined, { maximumFractionDigits: 1 })} %`
  return (
    <div class="field share">
      <p>
        <span>{label}</span> <b>{percent}</b>
      </p>
      <input
        type="range"
        min="0"
        max={max}
        step={Number.isInteger(value) ? 1 : 'any'}
        value={value}
        aria-label={label}
        aria-valuetext={percent}
        onInput={({ currentTarget }) => onChange(Number(currentTarget.value))}
      />
    </div>
  )
}

type Shadow = Readonly<{ model: string; sample: number }>

function ShadowField({ models, value: { model, sample }, onChange }: ModelsFieldProps<Shadow>) {
  return (
    <div class="row">
      <ModelPicker
        label="Copy requests to"
        models={models}
        value={model}
        onChange={(chosen) => onChange({ model: chosen, sample })}
      />
      <ShareField
        label="Share of the requests"
        value={sample * 100}
        max={100}
        share={sample}
        onChange={(percent) => onChange({ model, sample: Math.max(percent, 0.1) / 100 })}
      />
    </div>
  )
}

const REQUIRE_FIELDS: FieldSpecs = [
  [
    { name: 'region', label: 'Region', hint: 'Such as eu or eu-west-1.' },
    { name: 'retention_days', label: 'Keeps data for at most (days)', type: 'number', min: 0 },
  ],
  { name: 'zdr', label: 'Zero data retention', type: 'check' },
  { name: 'no_training', label: 'No training on data', type: 'check' },
]

/** What a provider must state. Whatever is not asked for is left out. */
function RequireFields({
  value,
  onChange,
}: {
  readonly value: Values
  readonly onChange: (v: Values) => void
}) {
  function change({ region, retention_days, zdr, no_training }: Values) {
    onChange({
      ...(region ? { region } : {}),
      ...(zdr ? { zdr: true } : {}),
      ...(retention_days != null && retention_days !== '' && { retention_days: Number(retention_days) }),
      ...(no_training ? { trains_on_data: false } : {}),
    })
  }
  const values = { ...value, zdr: value.zdr === true, no_training: value.trains_on_data === false }
  return (
    <fieldset class="plain">
      <legend>Only providers that state</legend>
      <Fields specs={REQUIRE_FIELDS} values={values} onChange={change} />
    </fieldset>
  )
}
