interface MeterProps {
  readonly value: number
  readonly max: number
  readonly label: string
}

/** A bar that shows a share. */
export function Meter({ value, max, label }: MeterProps) {
  const share = max <= 0 ? 0 : Math.min(1, value / max)
  return (
    <svg
      class="meter"
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${Math.round(share * 100)} %`}
    >
      <rect class="track" width="100" height="8" />
      <rect class="fill" width={share * 100} height="8" />
    </svg>
  )
}
