Bnorm1.weightJ@ydап╬'Й?b°>M%╚к?│
ИlVВs┐ёTUЗCж}┐р~xЬ▄н?Pм┴9w?w┤╙s№Б┐╫wё║Weq┐