// Two soft tones, made here: nothing is loaded for them.
const TONES = [659, 880];
const LASTS = 0.18;

export function chime(): void {
  if (typeof AudioContext === "undefined") return;
  const audio = new AudioContext();
  TONES.forEach((pitch, at) => {
    const begins = audio.currentTime + at * LASTS;
    const tone = new OscillatorNode(audio, { frequency: pitch });
    const loudness = new GainNode(audio, { gain: 0 });
    loudness.gain.setValueAtTime(0, begins);
    loudness.gain.linearRampToValueAtTime(0.08, begins + 0.02);
    loudness.gain.linearRampToValueAtTime(0, begins + LASTS);
    tone.connect(loudness).connect(audio.destination);
    tone.start(begins);
    tone.stop(begins + LASTS);
    if (at === TONES.length - 1) tone.onended = () => void audio.close();
  });
}
