interface TabsProps<Tab extends string> {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly current: string
  readonly onSelect: (tab: Tab) => void
}

/** A choice between a few views. */
export function Tabs<Tab extends string>({ label, tabs, current, onSelect }: TabsProps<Tab>) {
  return (
    <fieldset class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <button key={tab} type="button" aria-pressed={tab === current} onClick={() => onSelect(tab)}>
          {tab}
        </button>
      ))}
    </fieldset>
  )
}
